// needs: chromium
import axe from "axe-core";
import assert from "node:assert/strict";
import type { Page } from "puppeteer-core";
import { FleetWatch } from "../../roles/operator/dashboard/fleet_watch.ts";
import { missingFor } from "../../scripts/needs.ts";
import {
  exampleStories,
  exampleWatch,
  largeWatch,
  type Story,
  take,
} from "../fixtures/dashboard_fleet.ts";
import { openPage, type Pages, startChromium } from "../support/chromium.ts";
import { servePage } from "../support/dashboard_page.ts";

const ignore = missingFor(import.meta.url).length > 0;

const steps: (readonly [name: string, fn: (browser: Pages) => Promise<void>])[] = [];

/** One more thing to see in the browser, which all of them share: it takes seconds to start. */
function real(name: string, fn: (browser: Pages) => Promise<void>): void {
  steps.push([name, fn]);
}

Deno.test({
  name: "dashboard in Chromium",
  ignore,
  async fn(test) {
    await using browser = await startChromium();
    for (const [name, fn] of steps) {
      await test.step(name, async () => {
        // A context of its own: nothing stored, no page left behind.
        const context = await browser.createBrowserContext();
        try {
          await fn(context);
        } finally {
          await context.close();
        }
      });
    }
  },
});

const live = (page: Page) =>
  page.waitForFunction('document.getElementById("link").textContent === "Live"');

/** What axe finds wrong, in short. */
async function violations(page: Page): Promise<readonly string[]> {
  // Through the debugger: the page's own policy would not let a script in.
  await page.evaluate(axe.source);
  const found = await page.evaluate(`axe.run(document, { resultTypes: ["violations"] })
    .then(({ violations }) => violations.map(({ id, nodes }) =>
      id + ": " + nodes.map(({ html }) => html.slice(0, 120)).join(" | ")))`);
  return found as readonly string[];
}

/** What a page complained of, and whom it asked. */
function watched(page: Page): { readonly errors: string[]; readonly asked: string[] } {
  const seen = { errors: [] as string[], asked: [] as string[] };
  page.on("console", (message) => {
    if (message.type() === "error") seen.errors.push(message.text());
  });
  page.on("pageerror", (error) => void seen.errors.push(String(error)));
  page.on("dialog", (dialog) => {
    seen.errors.push(`a dialog: ${dialog.message()}`);
    void dialog.dismiss();
  });
  page.on("request", (request) => void seen.asked.push(request.url()));
  return seen;
}

real(
  "axe finds nothing, in light and dark, on the fleet, a host and a large fleet",
  async (browser) => {
    await using small = servePage(exampleWatch(Date.now()));
    await using large = servePage(largeWatch(1000, Date.now()));
    const backgrounds = new Set<unknown>();
    for (const scheme of ["light", "dark"] as const) {
      for (
        const url of [small.url, `${small.url}host/gpu-b`, `${small.url}host/laptop`, large.url]
      ) {
        const page = await openPage(browser, url, { scheme });
        await live(page);
        assert.deepEqual(await violations(page), [], `${scheme} ${url}`);
        backgrounds.add(await page.evaluate("getComputedStyle(document.body).backgroundColor"));
        await page.close();
      }
    }
    assert.equal(backgrounds.size, 2, "light and dark look alike");
    const narrow = await openPage(browser, small.url, { width: 360 });
    await live(narrow);
    assert.deepEqual(await violations(narrow), [], "narrow");
    const [wide, seen] = await narrow.evaluate(
      "[document.documentElement.scrollWidth, innerWidth]",
    ) as [number, number];
    assert.ok(wide <= seen, `the page itself scrolls sideways: ${wide} of ${seen}`);
  },
);

real("axe would find something: a page without its words is noticed", async (browser) => {
  await using served = servePage(exampleWatch(Date.now()));
  const page = await openPage(browser, served.url);
  await page.evaluate(`for (const svg of document.querySelectorAll("svg[aria-label]"))
    svg.removeAttribute("aria-label");
    document.querySelector("label").remove();
    document.documentElement.removeAttribute("lang")`);
  const found = (await violations(page)).map((one) => one.split(":")[0]);
  assert.deepEqual(found.filter((one) => one === "html-has-lang" || one === "label").sort(), [
    "html-has-lang",
    "label",
  ]);
  assert.ok(found.includes("svg-img-alt"), found.join());
});

real(
  "everything by keyboard: skip link, links, search, colours, a host and back",
  async (browser) => {
    await using served = servePage(exampleWatch(Date.now()));
    const page = await openPage(browser, served.url);
    await live(page);
    const focus = () =>
      page.evaluate(`(() => {
      const { activeElement: one } = document;
      const { outlineStyle, outlineWidth } = getComputedStyle(one);
      return { text: one.textContent.trim().slice(0, 40), id: one.id, tag: one.tagName,
        seen: outlineStyle !== "none" && parseFloat(outlineWidth) >= 2 };
    })()`) as Promise<{ text: string; id: string; tag: string; seen: boolean }>;
    await page.keyboard.press("Tab");
    assert.deepEqual(await focus(), {
      ...{ text: "Skip to the content", id: "", tag: "A", seen: true },
    });
    const left = await page.evaluate("document.activeElement.getBoundingClientRect().left");
    assert.ok((left as number) >= 0, "the skip link is not seen when it has the focus");
    await page.keyboard.press("Enter");
    assert.equal((await focus()).id, "main");
    const met: string[] = [];
    for (let tabs = 0; tabs < 40; tabs++) {
      await page.keyboard.press("Tab");
      const { text, id, tag, seen } = await focus();
      if (tag === "BODY") break;
      assert.ok(seen, `the focus on ${tag} ${text} cannot be seen`);
      met.push(id === "find" ? "find" : text);
    }
    for (const one of ["All 7", "Attention 4", "find", "Find", "gpu-a", "voice-a"]) {
      assert.ok(met.includes(one), `${one} was not met: ${met.join(", ")}`);
    }
    // The colours.
    await page.focus("#theme");
    await page.keyboard.press("Space");
    await page.keyboard.press("Space");
    assert.equal(await page.evaluate("document.documentElement.dataset.theme"), "dark");
    assert.deepEqual(await violations(page), []);
    await page.reload();
    assert.equal(await page.evaluate("document.documentElement.dataset.theme"), "dark");
    // Search, then a host, then back.
    await page.focus("#find");
    await page.keyboard.type("gpu");
    await Promise.all([page.waitForNavigation(), page.keyboard.press("Enter")]);
    assert.equal(await page.evaluate('document.querySelectorAll("#host-rows tr").length'), 2);
    await page.focus("#host-rows a");
    await Promise.all([page.waitForNavigation(), page.keyboard.press("Enter")]);
    assert.equal(await page.evaluate('document.querySelector("h1").textContent'), "gpu-a");
  },
);

real(
  "what changes shows without a reload, is said once, and leaves the focus alone",
  async (browser) => {
    const watch = exampleWatch(Date.now());
    await using served = servePage(watch);
    const page = await openPage(browser, served.url);
    const seen = watched(page);
    await live(page);
    await page.focus('a[href="/host/gpu-a"]');
    const fails = { kind: "unreachable", code: "no_route", detail: "no way there" } as const;
    take(watch, [{ host: "gpu-a", fails }], Date.now());
    await page.waitForFunction(
      'document.getElementById("h-gpu-a").textContent.includes("unreachable")',
    );
    assert.equal(
      await page.evaluate("document.activeElement.getAttribute('href')"),
      "/host/gpu-a",
      "an update took the focus away",
    );
    await page.waitForFunction('document.getElementById("said").textContent !== ""');
    assert.equal(
      await page.evaluate('document.getElementById("said").textContent'),
      "gpu-a: unreachable: no_route: no way there",
    );
    assert.match(
      await page.evaluate('document.querySelector("#feed li").textContent') as string,
      /gpu-a: unreachable: no_route: no way there$/,
    );
    assert.match(
      await page.evaluate('document.getElementById("h-gpu-a").textContent') as string,
      /seen .* ago/,
      "a time has no age",
    );
    take(watch, exampleStories(40, 4000).filter(({ host }) => host === "gpu-a"), Date.now());
    await page.waitForFunction(
      `document.querySelector('#h-gpu-a svg').getAttribute("aria-label").includes("now 40")`,
    );
    assert.deepEqual(await violations(page), []);
    assert.deepEqual(seen.errors, []);
    assert.ok(seen.asked.every((url) => url.startsWith(served.url)), seen.asked.join());
  },
);

real(
  "cut off it says so, and back it shows what the new process knows, not the old",
  async (browser) => {
    const old = exampleWatch(Date.now());
    const first = servePage(old);
    const page = await openPage(browser, first.url);
    await live(page);
    const events = 'document.querySelectorAll("#feed li").length';
    assert.ok((await page.evaluate(events) as number) > 0);
    await first[Symbol.asyncDispose]();
    await page.waitForFunction(
      'document.getElementById("link").textContent.startsWith("Not connected since")',
    );
    assert.equal(await page.evaluate('document.body.classList.contains("cut")'), true);
    // Another process on the same port, which has asked nobody yet.
    const fresh = new FleetWatch("00ff", old.watched, new Map(), Date.now());
    await using again = servePage(fresh, first.port);
    await live(page);
    const states =
      `[...document.querySelectorAll("#host-rows .state")].map((one) => one.textContent)`;
    assert.ok(
      (await page.evaluate(states) as string[]).every((one) => one.includes("not asked yet")),
      "something of the old process is still shown",
    );
    assert.equal(await page.evaluate(events), 0);
    take(fresh, exampleStories(), Date.now());
    await page.waitForFunction(`${states}.some((one) => one.includes("answers"))`);
    assert.deepEqual(again.troubles, []);
  },
);

real("a host whose name and words are markup is text", async (browser) => {
  const name = `<img src=x onerror="alert(1)">`;
  const base = exampleWatch(Date.now()).watched;
  const [one] = base.hosts;
  assert.ok(one);
  const watch = new FleetWatch("00", { ...base, hosts: [{ ...one, host: name }] }, new Map(), 0);
  await using served = servePage(watch);
  const page = await openPage(browser, served.url);
  const seen = watched(page);
  await live(page);
  const story: Story = { host: name, version: name, adoption: { why: name, freshness: "stale" } };
  take(watch, [story], Date.now());
  take(watch, [{ ...story, version: `<script>alert(2)</script>` }], Date.now());
  await page.waitForFunction('document.querySelector("#feed li") !== null');
  assert.equal(
    await page.evaluate('document.querySelectorAll("img, script:not([src])").length'),
    0,
  );
  assert.equal(await page.evaluate('document.querySelector("#host-rows a").textContent'), name);
  await Promise.all([page.waitForNavigation(), page.click("#host-rows a")]);
  await live(page);
  assert.equal(await page.evaluate('document.querySelector("h1").textContent'), name);
  assert.equal(
    await page.evaluate('document.querySelectorAll("img, script:not([src])").length'),
    0,
  );
  assert.deepEqual(await violations(page), []);
  assert.deepEqual(seen.errors, []);
});

real("a thousand hosts: pages by keyboard, and one change among them shows", async (browser) => {
  const watch = largeWatch(1000, Date.now());
  await using served = servePage(watch);
  const page = await openPage(browser, served.url);
  await live(page);
  await page.focus("#pager a");
  await Promise.all([page.waitForNavigation(), page.keyboard.press("Enter")]);
  await live(page);
  const [host] = await page.evaluate(
    `[...document.querySelectorAll("#host-rows a")].map((one) => one.textContent)`,
  ) as string[];
  assert.equal(host, "node-0025");
  const fails = { kind: "timed_out", code: "answer_late", detail: "late" } as const;
  take(watch, watch.watched.hosts.map(({ host }) => ({ host, fails })), Date.now());
  await page.waitForFunction(
    'document.getElementById("h-node-0025").textContent.includes("timed out")',
  );
  await page.waitForFunction('document.getElementById("said").textContent.includes("events")');
  const items = await page.evaluate('document.querySelectorAll("#feed li").length') as number;
  assert.ok(items > 0 && items <= 30, `${items} events in the page`);
});

real("without its script the page is whole, and says that it stands still", async (browser) => {
  await using served = servePage(exampleWatch(Date.now()));
  const page = await browser.newPage();
  await page.setJavaScriptEnabled(false);
  await page.goto(served.url);
  const text = await page.$eval("body", (body) => body.innerText);
  for (const one of ["gpu-a", "answers", "unreachable", "llm.primary", "s ago", "Without its"]) {
    assert.ok(text.includes(one), one);
  }
});
