/**
 * The dashboard's page in Chromium: first paint, how long an update takes to show, bytes; and what a
 * watch of a thousand hosts weighs after many looks.
 *
 *     deno run -A --v8-flags=--expose-gc tests/bench/dashboard.ts [rounds] [looks]
 *
 * First paint and update are the browser's own performance entries. An update is measured from the
 * moment a look ended here to the moment the page had it in place.
 *
 * @module
 */

import type { Page } from "puppeteer-core";
import { HEADERS } from "../../roles/operator/dashboard/guard.ts";
import type { FleetWatch } from "../../roles/operator/dashboard/fleet_watch.ts";
import {
  exampleWatch,
  largeStories,
  largeWatch,
  take,
  unaskedWatch,
} from "../fixtures/dashboard_fleet.ts";
import { openPage, startChromium } from "../support/chromium.ts";
import { servePage } from "../support/dashboard_page.ts";

/** What the page of the operator asks for. */
const BARS = { paintMs: 300, updateMs: 100, bytes: 150_000 };

interface Seen {
  readonly paint: number[];
  readonly update: number[];
  bytes: number;
}

async function measure(pages: Pick<Awaited<ReturnType<typeof startChromium>>, "newPage">, {
  watch,
  rounds,
}: { readonly watch: FleetWatch; readonly rounds: number }): Promise<Seen> {
  const seen: Seen = { paint: [], update: [], bytes: 0 };
  const hosts = watch.watched.hosts.map(({ host }) => host);
  const [first = ""] = hosts;
  await using served = servePage(watch);
  // What runs for the first time is compiled: a dashboard does that before it says its address.
  await (await openPage(pages, served.url)).close();
  for (let round = 0; round < rounds; round++) {
    const page = await openPage(pages, served.url);
    await page.waitForFunction(`document.getElementById("link").textContent === "Live"`);
    await page.waitForFunction(`performance.getEntriesByType("paint").length > 0`);
    seen.paint.push(await number(page, `performance.getEntriesByType("paint").at(-1).startTime`));
    seen.bytes = Math.max(
      seen.bytes,
      await number(
        page,
        `[...performance.getEntriesByType("navigation"), ...performance.getEntriesByType("resource")]
          .reduce((sum, { encodedBodySize }) => sum + encodedBodySize, 0)`,
      ),
    );
    for (let at = 0; at < 10; at++) {
      await new Promise((resolve) => setTimeout(resolve, 100));
      const inFlight = 100 + round * 10 + at;
      const label = `now ${inFlight},`;
      const begun = performance.timeOrigin + performance.now();
      take(watch, [{ host: first, router: { inFlight, p95: 5 } }], Date.now());
      await page.waitForFunction(
        `document.querySelector("#host-rows svg")?.getAttribute("aria-label").includes("${label}")`,
        { polling: "mutation" },
      );
      const mark = `performance.getEntriesByName("anvil-update").at(-1).startTime`;
      seen.update.push(await number(page, `performance.timeOrigin + ${mark}`) - begun);
    }
    await page.close();
  }
  return seen;
}

/** First paint of a page with one line in it, with the policies of ours: what the browser costs. */
async function floor(
  pages: Pick<Awaited<ReturnType<typeof startChromium>>, "newPage">,
  rounds: number,
) {
  const seen: number[] = [];
  const body = '<!doctype html><html lang="en"><title>empty</title><p>One line.</p></html>';
  const headers = { ...HEADERS, "content-type": "text/html; charset=utf-8" };
  await using served = Deno.serve(
    { hostname: "127.0.0.1", port: 0, onListen: () => {} },
    () => new Response(body, { headers }),
  );
  for (let round = 0; round <= rounds; round++) {
    const page = await openPage(pages, `http://127.0.0.1:${served.addr.port}/`);
    await page.waitForFunction(`performance.getEntriesByType("paint").length > 0`);
    const at = await number(page, `performance.getEntriesByType("paint").at(-1).startTime`);
    if (round > 0) seen.push(at); // the first one warms the browser up, as above
    await page.close();
  }
  return seen;
}

async function number(page: Page, script: string): Promise<number> {
  return await page.evaluate(script) as number;
}

function quantile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((left, right) => left - right);
  return sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))] ?? NaN;
}

/** Heap after half of the looks and after all of them, in MiB; null without `--expose-gc`. */
function weigh(hosts: number, looks: number): readonly [number, number] | null {
  const { gc } = globalThis as { readonly gc?: () => void };
  if (gc === undefined) return null;
  const watch = unaskedWatch(hosts, Date.now());
  const ids = watch.watched.hosts.map(({ host }) => host);
  const heap = () => {
    gc();
    return Deno.memoryUsage().heapUsed / 1024 / 1024;
  };
  let half = 0;
  for (let look = 1; look <= looks; look++) {
    take(watch, largeStories(ids, look), Date.now() + look * 30_000, look % 4 === 0);
    if (look === Math.floor(looks / 2)) half = heap();
  }
  const whole = heap();
  // The watch is alive until here.
  if (watch.views.length !== hosts) throw new Error("hosts were lost");
  return [half, whole];
}

if (import.meta.main) {
  const [rounds = "5", looks = "100"] = Deno.args;
  const browser = await startChromium();
  let held = true;
  for (
    const [name, watch] of [
      ["7 hosts", exampleWatch(Date.now())],
      ["1,000 hosts", largeWatch(1000, Date.now())],
    ] as const
  ) {
    const { paint, update, bytes } = await measure(browser, { watch, rounds: Number(rounds) });
    const ms = (value: number) => value.toFixed(0);
    held &&= quantile(paint, 0.5) <= BARS.paintMs && quantile(update, 0.5) <= BARS.updateMs &&
      bytes <= BARS.bytes;
    console.log(
      `${name}: first paint median ${ms(quantile(paint, 0.5))} ms, most ${
        ms(Math.max(...paint))
      }; ` +
        `update median ${ms(quantile(update, 0.5))} ms, p95 ${ms(quantile(update, 0.95))}; ` +
        `${bytes} bytes`,
    );
  }
  const empty = await floor(browser, Number(rounds));
  console.log(
    `a page with one line: first paint median ${quantile(empty, 0.5).toFixed(0)} ms, ` +
      `most ${Math.max(...empty).toFixed(0)}`,
  );
  await browser.close();
  const weight = weigh(1000, Number(looks));
  console.log(
    weight === null
      ? "heap: not measured; start with --v8-flags=--expose-gc"
      : `1,000 hosts, ${looks} looks each: heap ${weight[0].toFixed(1)} MiB after half of them, ` +
        `${weight[1].toFixed(1)} MiB after all`,
  );
  Deno.exit(held ? 0 : 1);
}
