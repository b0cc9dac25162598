import assert from "node:assert/strict";
import fc from "fast-check";
import { type Entry, recall } from "../core/machine.ts";
import { AdoptionRig, candidate } from "../testing/adoption_rig.ts";
import { FakeDisk } from "../testing/fake_disk.ts";
import { FakeWorld } from "../testing/fake_backend.ts";
import type { Facts } from "./backend.ts";
import type { Effect, Event } from "./event.ts";
import { adoption } from "./machine.ts";
import { nextAction } from "./recovery.ts";

type Entries = readonly Entry<Event, Effect>[];

async function journalOf(
  set: (rig: AdoptionRig) => void,
  path = "new",
  purpose: "adopt" | "prove" = "adopt",
): Promise<Entries> {
  const rig = new AdoptionRig(new FakeWorld(), new FakeDisk(), "by_itself");
  rig.world.generations.set("new", { whole: true, kernel: "k1" });
  set(rig);
  await rig.open().take(rig.began(path, [], purpose));
  return await rig.entries().read();
}

const fails = (rig: AdoptionRig) => {
  rig.facts.probe = (current) => ({ state: current === "new" ? "fail" : "pass" });
};
const kernel = (rig: AdoptionRig) => {
  rig.world.generations.set("new", { whole: true, kernel: "k2" });
};
const oldFails = (rig: AdoptionRig) => {
  rig.facts.probe = () => ({ state: "fail" });
};
/** The last two prove what runs already. */
const JOURNALS = async (): Promise<readonly Entries[]> => [
  await journalOf(() => {}),
  await journalOf(fails),
  await journalOf(kernel),
  await journalOf(() => {}, "old", "prove"),
  await journalOf(oldFails, "old", "prove"),
];

const somewhere = fc.constantFrom("old", "new", "third", null);
const facts: fc.Arbitrary<Facts> = fc.record({
  kind: fc.constant("facts" as const),
  current: somewhere,
  booted: somewhere,
  selected: somewhere,
  boot_id: fc.constantFrom("boot-0", "boot-1"),
});

Deno.test("recovery: every prefix of a journal has one next action, whatever is so", async () => {
  let prefixes = 0;
  for (const entries of await JOURNALS()) {
    for (let length = 0; length <= entries.length; length++) {
      prefixes++;
      const prefix = entries.slice(0, length);
      fc.assert(fc.property(facts, (now) => {
        const action = nextAction(prefix, now);
        const { slots } = action;
        // An attempt is always gone on with, and what was begun is told to be begun.
        assert.equal(action.kind === "perform", slots.attempt !== null || slots.collect);
        const last = prefix.at(-1);
        if (action.kind === "perform") assert.equal(action.again, last?.kind === "intent");
        // Good only after a verdict in the same journal.
        const judged = prefix.some((one) =>
          one.kind === "done" && one.event.kind === "judged_good"
        );
        if (slots.proven !== null) assert.ok(judged);
        // What runs is proven by looking: nothing is ever launched for it, or told to a boot loader.
        if (action.kind === "perform" && slots.attempt?.purpose === "prove") {
          assert.ok(!["activate", "inspect", "revert"].includes(action.effect.kind));
        }
        if (action.kind === "post_boot") assert.equal(now.booted, slots.pending?.path);
        if (action.kind === "boot_other") assert.notEqual(now.booted, slots.pending?.path);
        assert.deepEqual(nextAction(prefix, now), action, "not a function of its arguments");
      }));
    }
  }
  console.log(`recovery: ${prefixes} prefixes`);
  assert.equal(prefixes, 58);
});

const at = "2026-01-01T00:00:00.000Z";
const evidence = { failed: [], unknown: [], not_judged: [], samples: 1, clean: 1 };
const events: fc.Arbitrary<Event> = fc.constantFrom<Event>(
  {
    kind: "began",
    attempt: "a",
    purpose: "adopt",
    path: "new",
    candidate: candidate("new"),
    by: { who: "t", kind: "timer" },
    overrides: null,
    at,
  },
  {
    kind: "baseline_taken",
    baseline: { at, readings: [], boot_id: "boot-0", boot_pending: false },
    previous: "old",
    revert_to: "old",
    impact: {
      mode: "switch",
      ...{ boot_parts: [], stop: [], restart: [], reload: [], start: [], skipped: [] },
      ...{ added: 0, removed: 0, changed: 0 },
    },
  },
  {
    kind: "began",
    attempt: "p",
    purpose: "prove",
    path: "old",
    candidate: candidate("old"),
    by: { who: "t", kind: "timer" },
    overrides: null,
    at,
  },
  {
    kind: "began",
    attempt: "g",
    purpose: "back",
    path: "old",
    candidate: null,
    by: { who: "t", kind: "timer" },
    overrides: null,
    at,
  },
  { kind: "baseline_stale" },
  { kind: "gates_busy", reasons: [], at },
  { kind: "launched", launch: { kind: "switched", degraded: false, detail: "" }, boot_id: "b", at },
  { kind: "launched", launch: { kind: "installed", detail: "" }, boot_id: "b", at },
  { kind: "launched", launch: { kind: "unknown", code: "x", detail: "" }, boot_id: "b", at },
  { kind: "judged_good", evidence, at },
  {
    kind: "judged_bad",
    condemned: { class: "candidate", code: "probe_failed", detail: "", evidence },
    at,
  },
  { kind: "committed", problem: null, at },
  { kind: "reverted_judged", evidence, good: true, at },
  { kind: "superseded", found: "third", at },
  { kind: "unsettled", code: "x", detail: "", at },
  { kind: "recorded", at },
  { kind: "collected", removed: 0, problem: null },
  { kind: "offered", candidate: candidate("new"), withdrawn: [], payload_digest: "d", at },
  { kind: "offered", candidate: candidate("next"), withdrawn: ["new"], payload_digest: "d", at },
  { kind: "recovered", by: "p", why: "looked", at },
);

Deno.test("recovery: events in any order bless nothing that was not judged, and leave nothing stuck", () => {
  fc.assert(
    fc.property(fc.array(events, { maxLength: 40 }), (order) => {
      const entries: Entry<Event, Effect>[] = [];
      let judged = false;
      for (const event of order) {
        const before = recall(adoption, entries).state;
        if (event.kind === "judged_good" && before.attempt?.phase === "probe") judged = true;
        entries.push({ kind: "done", event });
        const after = recall(adoption, entries).state;
        if (after.proven !== null) assert.ok(judged);
        // Withdrawn before its verdict: never proven.
        const id = before.attempt?.candidate?.id ?? "";
        if (event.kind === "judged_good" && before.withdrawn.includes(id)) {
          assert.notEqual(after.attempt?.phase, "commit");
        }
        if (after.attempt?.purpose === "prove") {
          assert.notEqual(after.attempt.phase, "activate", "a proof launches what it looks at");
        }
        if (after.attempt !== null) assert.notEqual(adoption.owed(after), null, "stuck");
      }
    }),
    { numRuns: 2000 },
  );
});
