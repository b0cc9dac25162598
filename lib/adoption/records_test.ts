import assert from "node:assert/strict";
import fc from "fast-check";
import { candidate } from "../testing/adoption_rig.ts";
import { mark, markerText, readMarker } from "./marker.ts";
import { addReceipt, MOST_OF_A_KIND, type Receipt, receipt } from "./receipts.ts";
import { NO_SLOTS, type Slots } from "./slots.ts";
import { readSummary, summarize, summaryShape } from "./status.ts";

const NOW = Date.UTC(2026, 0, 2);
const time = (hours: number) => new Date(NOW + hours * 3_600_000).toISOString();

Deno.test("receipts: repeats are counted, each kind has its room, noise evicts no evidence", () => {
  let all: readonly Receipt[] = [];
  all = addReceipt(all, receipt("rolled-back", "probe_failed", "x", time(0), { attempt: "a1" }));
  for (let n = 0; n < 1000; n++) {
    const path = n < 500 ? "p" : `p${n}`;
    all = addReceipt(
      all,
      receipt("deferred", "gates_not_clear", "y", time(n), { path, attempt: `d${n}` }),
    );
  }
  const deferred = all.filter(({ kind }) => kind === "deferred");
  assert.equal(deferred.length, MOST_OF_A_KIND);
  assert.equal(all.filter(({ kind }) => kind === "rolled-back").length, 1);
  let same: readonly Receipt[] = [];
  for (let n = 0; n < 3; n++) {
    same = addReceipt(same, receipt("deferred", "g", "y", time(n), { attempt: `s${n}` }));
  }
  assert.deepEqual(same.map(({ count, first, last }) => [count, first, last]), [[
    3,
    time(0),
    time(2),
  ]]);
  // The same attempt again, after a crash: nothing.
  assert.deepEqual(
    addReceipt(same, receipt("deferred", "g", "y", time(9), { attempt: "s2" })),
    same,
  );
});

Deno.test("markers: one grammar, read back as written; told at first, at another code, and again", () => {
  const failure = { unit: "u", code: "c", detail: "d\nunit: forged\x1b", next: "n" };
  const first = mark(null, failure, NOW, 3_600_000);
  assert.equal(first.notify, true);
  const second = mark(first.marker, failure, NOW + 60_000, 3_600_000);
  assert.deepEqual([second.notify, second.marker.count, second.marker.since], [false, 2, time(0)]);
  assert.equal(mark(second.marker, failure, NOW + 3_600_000, 3_600_000).notify, true);
  const other = mark(second.marker, { ...failure, code: "e" }, NOW + 60_000, 3_600_000);
  assert.deepEqual([other.notify, other.marker.count], [true, 1]);
  const text = markerText(second.marker);
  assert.equal(text.split("\n").length, 10, "a value broke the lines");
  assert.deepEqual(readMarker(text), { ...second.marker, detail: "d unit: forged" });
  assert.equal(readMarker("something else\n"), null);
  fc.assert(fc.property(fc.string(), (detail) => {
    const { marker } = mark(null, { ...failure, detail }, NOW, 1);
    assert.equal(readMarker(markerText(marker))?.unit, "u");
  }));
});

const slots = (more: Partial<Slots> = {}): Slots => {
  const one = candidate("new", { expires_at: time(1000) });
  return { ...NO_SLOTS, offered: { candidate: one, at: time(-1) }, ...more };
};
const parts = {
  ...{ host: "h", backend: "bundle", channel: "rolling", policy: "rolling" } as const,
  rebootPolicy: "notify",
  staleAfterMs: 72 * 3_600_000,
  contact: { at: time(0), ok_at: time(0), code: "offered" },
  now: NOW,
} as const;
const facts = {
  ...{ kind: "facts", current: "old", booted: "old", selected: "old", boot_id: "b" } as const,
};

Deno.test("status: fresh, aging, stale and unknown, by the time it is read", () => {
  const summary = summarize(slots(), facts, parts);
  assert.equal(summaryShape.safeParse(summary).success, true);
  const word = (hours: number, changed = summary) =>
    readSummary(changed, NOW + hours * 3_600_000).freshness;
  assert.equal(word(0), "aging");
  assert.equal(word(73), "stale", "an old node is visibly old");
  const current = summarize(slots(), { ...facts, current: "new" }, parts);
  assert.equal(word(0, current), "fresh");
  assert.equal(word(73, current), "stale", "nobody answered for so long");
  assert.equal(word(0, summarize(slots(), null, parts)), "unknown");
  assert.equal(word(0, summarize(slots(), facts, { ...parts, contact: null })), "unknown");
  const waiting = { since: time(-80), last: time(0), count: 3, reasons: [] };
  assert.equal(word(0, summarize(slots({ waiting }), facts, parts)), "stale");
  assert.equal(readSummary(summary, NOW + 7_200_000).ages["offered"], 10_800);
});

Deno.test("status: the next attempt is when the last of what has to pass has passed", () => {
  const rejected = [{
    ...{ id: "new", sequence: 1, class: "environment", code: "c", detail: "" } as const,
    ...{ count: 1, at: time(0), retry_at: time(1) },
  }];
  const pause = { by: "x", reason: "y", at: time(0), until: time(2) };
  assert.equal(summarize(slots({ rejected }), facts, parts).next_attempt, time(1));
  assert.equal(summarize(slots({ rejected, pause }), facts, parts).next_attempt, time(2));
  assert.equal(summarize(slots(), facts, parts).next_attempt, null);
  const withdrawn = summarize(slots({ withdrawn: ["old"] }), facts, parts);
  assert.equal(withdrawn.running_withdrawn, true);
});
