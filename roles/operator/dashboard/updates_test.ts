import assert from "node:assert/strict";
import { FakeClock } from "../../../lib/testing/fake_clock.ts";
import { exampleStories, exampleWatch, take } from "../../../tests/fixtures/dashboard_fleet.ts";
import { matrixCache } from "./matrix_cache.ts";
import { since } from "./page.tsx";
import { pageAsk } from "./page_ask.ts";
import { MOST_READERS, type ReaderAsk, Updates } from "./updates.ts";

const FLEET = { kind: "fleet", ask: pageAsk(new URLSearchParams()) } as const;

/** A fleet, its updates, and how often somebody came and left. */
function rig() {
  const clock = new FakeClock();
  const watch = exampleWatch(clock.now());
  const readers = { came: 0, left: 0, stalled: 0 };
  const updates = new Updates({
    ...{ clock, watch, matrix: matrixCache(watch, clock), freshMs: () => 60_000 },
    onReader: () => {
      readers.came++;
      return () => void readers.left++;
    },
  });
  const open = (more: Partial<ReaderAsk> = {}) => {
    const stream = updates.open({
      ...{ subject: FLEET, since: since(watch), last: null, onEnd: () => {} },
      onStalled: () => void readers.stalled++,
      ...more,
    });
    return stream?.getReader() ?? null;
  };
  return { clock, watch, updates, readers, open };
}

type Source = ReadableStreamDefaultReader<Uint8Array>;

interface Update {
  readonly id: string;
  readonly parts: readonly (readonly [string, string])[];
  readonly events: { reset: boolean; items: readonly string[]; said: string } | null;
}

/** The next update; comments are passed over. */
async function next(source: Source | null, clock: FakeClock): Promise<Update> {
  assert.ok(source !== null);
  for (;;) {
    const reading = source.read();
    await clock.advance(60);
    const { value, done } = await reading;
    assert.ok(!done, "the stream is over");
    const text = new TextDecoder().decode(value);
    const data = /^data: (.*)$/m.exec(text)?.[1];
    if (data !== undefined) {
      return { id: /^id: (.*)$/m.exec(text)?.[1] ?? "", ...JSON.parse(data) };
    }
  }
}

Deno.test("updates: a page that was just made gets nothing twice, then only what changed", async () => {
  const { clock, watch, open, updates } = rig();
  const source = open();
  const first = await next(source, clock);
  assert.deepEqual([first.parts, first.events], [[], null]);
  const stories = exampleStories(11, 1500);
  const changed = stories.map((story) =>
    story.host === "gpu-a" ? { ...story, router: { inFlight: 12, p95: 7 } } : story
  ).filter(({ host }) => host === "gpu-a");
  take(watch, changed, clock.now());
  const second = await next(source, clock);
  const sent = new Map(second.parts);
  assert.deepEqual([...sent.keys()].sort(), ["a-gpu-a", "asof", "h-gpu-a"]);
  assert.match(sent.get("h-gpu-a") ?? "", /aria-label="in flight: now 12, /);
  updates.close();
  assert.ok((await source?.read())?.done);
});

Deno.test("updates: a change of membership sends the list, an event its sentence", async () => {
  const { clock, watch, open, updates } = rig();
  const ask = pageAsk(new URLSearchParams("show=attention"));
  const source = open({ subject: { kind: "fleet", ask } });
  await next(source, clock);
  const fails = { kind: "unreachable", code: "no_route", detail: "no way there" } as const;
  take(watch, [{ host: "gpu-a", fails }], clock.now());
  const { parts, events } = await next(source, clock);
  const rows = parts.find(([id]) => id === "host-rows")?.[1] ?? "";
  assert.match(rows, /id="h-gpu-a" class="trouble"/);
  assert.match(rows, /id="h-laptop"/);
  assert.deepEqual([events?.reset, events?.items.length], [false, 1]);
  assert.equal(events?.said, "gpu-a: unreachable: no_route: no way there");
  updates.close();
});

Deno.test("updates: who comes back gets the events after its last, or all, and every part", async () => {
  const { clock, watch, open, updates } = rig();
  const { id } = await next(open(), clock);
  const fails = { kind: "unreachable", code: "no_route", detail: "" } as const;
  take(watch, [{ host: "gpu-a", fails }], clock.now());
  const back = await next(open({ last: id }), clock);
  assert.equal(back.events?.reset, false);
  assert.equal(back.events?.items.length, 1);
  assert.ok(back.parts.some(([id]) => id === "host-rows"));
  assert.ok(back.parts.some(([id]) => id === "matrix"));
  // Another process, an odd id, or one that is too old: everything, in place of what was there.
  for (const last of ["ffffffffffffffff.9.9", "", "x.y.z", `${id.split(".")[0]}.1`]) {
    const all = await next(open({ last }), clock);
    assert.equal(all.events?.reset, true, last);
    assert.ok((all.events?.items.length ?? 0) > 1, last);
  }
  updates.close();
});

Deno.test("updates: a reader that takes nothing is let go, one that reads on is not", async () => {
  const { clock, watch, updates, readers, open } = rig();
  const slow = open();
  const quick = open();
  await next(slow, clock);
  await next(quick, clock);
  for (let at = 0; at < 15; at++) {
    take(watch, exampleStories(at, 100 + at), clock.now());
    const reading = quick?.read();
    await clock.advance(2000);
    assert.equal((await reading)?.done, false);
  }
  assert.deepEqual([readers.stalled, readers.left, updates.readers], [1, 1, 1]);
  updates.close();
  assert.deepEqual([readers.left, updates.readers], [2, 0]);
});

Deno.test("updates: so many readers and no more; one that leaves makes room; none after the end", async () => {
  const { updates, open } = rig();
  const all = Array.from({ length: MOST_READERS }, () => open());
  assert.equal(open(), null);
  await all[0]?.cancel();
  assert.equal(updates.readers, MOST_READERS - 1);
  assert.ok(open() !== null);
  updates.close();
  assert.equal(updates.readers, 0);
  assert.equal(open(), null);
});

Deno.test("updates: a standing that changes with time alone is sent", async () => {
  const { clock, open, updates } = rig();
  const source = open();
  await next(source, clock);
  let rows: readonly string[] = [];
  for (let at = 0; at < 12 && rows.length === 0; at++) {
    const reading = source?.read();
    await clock.advance(12_000); // a beat at least
    const text = new TextDecoder().decode((await reading)?.value);
    const data = /^data: (.*)$/m.exec(text)?.[1];
    if (data === undefined) assert.match(text, /^: /);
    else rows = JSON.parse(data).parts.map(([, html]: [string, string]) => html);
  }
  assert.ok(rows.some((html) => html.includes("old answer")), rows.join("\n").slice(0, 300));
  updates.close();
});
