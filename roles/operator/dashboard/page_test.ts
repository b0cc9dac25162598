import assert from "node:assert/strict";
import { FakeClock } from "../../../lib/testing/fake_clock.ts";
import {
  exampleWatch,
  largeWatch,
  type Story,
  take,
  unaskedWatch,
} from "../../../tests/fixtures/dashboard_fleet.ts";
import type { FleetWatch } from "./fleet_watch.ts";
import { ICON } from "./icon.ts";
import { matrixCache } from "./matrix_cache.ts";
import STYLE from "./page.css" with { type: "text" };
import SCRIPT from "./page.js" with { type: "text" };
import { pageText } from "./page.tsx";
import { pageAsk, PER_PAGE, queryOf } from "./page_ask.ts";
import { partsOf, type Subject } from "./parts.tsx";
import { Updates } from "./updates.ts";

/** Of a page with all that it loads, and what its stream sends at once. */
const MOST_BYTES = 150_000;
const size = (text: string) => new TextEncoder().encode(text).length;

const fleet = (query = ""): Subject => ({
  kind: "fleet",
  ask: pageAsk(new URLSearchParams(query)),
});

function rendered(watch: FleetWatch, subject: Subject, clock: FakeClock): string {
  const source = { watch, freshMs: () => 600_000, matrix: matrixCache(watch, clock) };
  const now = clock.now();
  const parts = partsOf(subject, source, now);
  return pageText({ subject, parts, watch, moment: { now, ages: true }, periodMs: 5000 });
}

/** All that a browser gets for a page: when it is opened, or back after it was cut off. */
async function bytesOf(watch: FleetWatch, subject: Subject): Promise<number> {
  const clock = new FakeClock();
  const updates = new Updates({
    ...{ clock, watch, freshMs: () => 600_000, matrix: matrixCache(watch, clock) },
    onReader: () => () => {},
  });
  const asked = { onStalled: () => {}, onEnd: () => {}, since: "", last: "again" };
  const reader = updates.open({ subject, ...asked })?.getReader();
  const snapshot = (await reader?.read())?.value ?? new Uint8Array();
  updates.close();
  assert.ok(snapshot.length > 1000);
  const page = size(rendered(watch, subject, clock)) + size(STYLE) + size(SCRIPT) + size(ICON);
  assert.ok(snapshot.length < MOST_BYTES, `a snapshot has ${snapshot.length} bytes`);
  return page;
}

Deno.test("page: a thousand hosts stay within the bytes a page may have, on every page", async () => {
  const watch = largeWatch(1000, new FakeClock().now());
  for (const query of ["", "page=2", "page=40", "show=attention", "find=node-05"]) {
    const bytes = await bytesOf(watch, fleet(query));
    assert.ok(bytes < MOST_BYTES, `${query}: ${bytes} bytes`);
  }
});

Deno.test("page: so does a fleet whose hosts say as much as they can", async () => {
  const clock = new FakeClock();
  const watch = unaskedWatch(1000, clock.now());
  const long = "<&'\">".repeat(300);
  for (const [at, { host }] of watch.watched.hosts.entries()) {
    const ago = (look: number) => new Date(clock.now() - look * 3_600_000).toISOString();
    for (let look = 20; look >= 0; look--) {
      if (at > 100 && look > 0) continue;
      const story: Story = {
        host,
        version: long.slice(0, 128),
        router: {
          ...{ inFlight: look * 1000, p95: 100_000 + look, ready: false },
          ...{ tier: `${look}${long}`, alias: `${at}${long}` },
        },
        topology: "6".repeat(64),
        adoption: {
          ...{ freshness: "stale", why: long.slice(0, 1000) },
          offered: { rev: long.slice(0, 200), at: ago(look) },
          failures: Array.from({ length: 20 }, (_, one) => ({
            ...{ code: `${one}${long}`.slice(0, 100), last: ago(look + one) },
          })),
        },
      };
      take(watch, [story], clock.now());
    }
  }
  const bytes = await bytesOf(watch, fleet());
  assert.ok(bytes < MOST_BYTES, `${bytes} bytes`);
  const sheet = await bytesOf(watch, { kind: "host", host: "node-0000" });
  assert.ok(sheet < MOST_BYTES, `${sheet} bytes of one host`);
});

Deno.test("page: an address that says nonsense is one that says nothing", () => {
  const everything = { page: 1, show: "all", find: "" };
  for (const query of ["", "page=0", "page=-1", "page=x", "show=<b>", "find=%3Cb%3E", "page=1e9"]) {
    assert.deepEqual(pageAsk(new URLSearchParams(query)), everything, query);
  }
  const ask = pageAsk(new URLSearchParams("page=3&show=attention&find=GPU-"));
  assert.deepEqual(ask, { page: 3, show: "attention", find: "gpu-" });
  assert.equal(queryOf(ask), "?show=attention&find=gpu-&page=3");
  assert.equal(queryOf(pageAsk(new URLSearchParams())), "");
});

Deno.test("page: pages, and what needs attention", () => {
  const clock = new FakeClock();
  const watch = largeWatch(100, clock.now());
  const rows = (query: string) =>
    rendered(watch, fleet(query), clock).match(/<tr id="h-/g)?.length ?? 0;
  assert.equal(rows(""), PER_PAGE);
  assert.equal(rows("page=4"), 100 - 3 * PER_PAGE);
  assert.equal(rows("page=99"), PER_PAGE, "beyond the last is the last");
  assert.equal(rows("show=attention"), 1);
  assert.equal(rows("find=node-001"), 10);
  assert.equal(rows("find=nobody"), 0);
});

Deno.test("page: landmarks, captions, headings in order, one h1, a skip link, no colour alone", () => {
  const clock = new FakeClock();
  const watch = exampleWatch(clock.now());
  for (const subject of [fleet(), { kind: "host", host: "gpu-b" } as const]) {
    const text = rendered(watch, subject, clock);
    for (const tag of ["<header>", "<main ", "<nav ", "<footer>", '<html lang="en"', "<h1>"]) {
      assert.equal(
        text.split(tag).length - 1,
        tag === "<nav " ? text.split("<nav ").length - 1 : 1,
        tag,
      );
    }
    assert.equal(text.match(/<table>/g)?.length, text.match(/<caption>/g)?.length);
    assert.ok(text.indexOf('class="skip"') < text.indexOf("<header>"));
    for (const [, inside = ""] of text.matchAll(/class="state [a-z]+">(.*?)<\/span> ?([^<]*)/g)) {
      assert.match(inside, /aria-hidden="true"/);
    }
    for (
      const [, word = ""] of text.matchAll(/class="state [a-z]+"><span[^>]*>.<\/span> ([^<]*)/g)
    ) {
      assert.match(word, /^[a-z]/, "a state has no word");
    }
    assert.ok(text.match(/role="img" aria-label="[^"]+"/), "pictures have words");
  }
});
