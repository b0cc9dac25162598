import assert from "node:assert/strict";
import { AdoptionRig } from "../testing/adoption_rig.ts";
import { everyMoment } from "../testing/every_moment.ts";
import { FakeWorld, type LaunchStyle } from "../testing/fake_backend.ts";
import type { FakeDisk } from "../testing/fake_disk.ts";
import { observed } from "./gate.ts";
import type { EndingKind, Slots } from "./slots.ts";

/** What happens when nobody dies, and what may come out when somebody does. */
interface Case {
  readonly name: string;
  readonly set: (rig: AdoptionRig) => void;
  readonly end: EndingKind;
  /** Besides `end`, after a death; after a power cut. */
  readonly also?: readonly EndingKind[];
  readonly cut?: readonly EndingKind[];
  /** Of a run in which nobody dies, by launch style. */
  readonly moments: { readonly [style in LaunchStyle]: number };
}

const bad = (rig: AdoptionRig) => {
  rig.facts.probe = (current) =>
    current === "new" ? { state: "fail", code: "down" } : { state: "pass", code: "ok" };
};

const CASES: readonly Case[] = [
  {
    name: "good",
    set: () => {},
    end: "known-good",
    cut: ["failed", "rolled-back"],
    moments: { by_itself: 47, half: 48 },
  },
  {
    name: "bad",
    set: bad,
    end: "rolled-back",
    cut: ["failed"],
    moments: { by_itself: 53, half: 55 },
  },
  {
    name: "busy",
    set: (rig) => rig.facts.gate = () => observed("busy", "requests_in_flight", "one"),
    end: "deferred",
    moments: { by_itself: 23, half: 23 },
  },
  {
    name: "nothing switched",
    set: (rig) =>
      rig.world.generations.set("new", { whole: true, kernel: "k1", launch: "nothing" }),
    end: "failed",
    moments: { by_itself: 25, half: 26 },
  },
  {
    name: "another activation",
    set: (rig) =>
      rig.world.generations.set("new", { whole: true, kernel: "k1", launch: "elsewhere" }),
    end: "deferred",
    moments: { by_itself: 25, half: 26 },
  },
  {
    name: "damaged bytes",
    set: (rig) => rig.world.generations.set("new", { whole: false, kernel: "k1" }),
    end: "refused",
    moments: { by_itself: 17, half: 17 },
  },
];

const worlds = new WeakMap<FakeDisk, AdoptionRig>();

/** One life of the adopter; the world outlives it. */
async function live(
  disk: FakeDisk,
  style: LaunchStyle,
  set: (rig: AdoptionRig) => void,
  cut: boolean,
  restarted: boolean,
): Promise<{ rig: AdoptionRig; slots: Slots }> {
  let rig = worlds.get(disk);
  if (rig === undefined) {
    rig = new AdoptionRig(new FakeWorld(), disk, style);
    rig.world.generations.set("new", { whole: true, kernel: "k1" });
    set(rig);
    worlds.set(disk, rig);
  }
  if (restarted && cut) rig.world.powerCycle();
  const adoption_ = rig.open();
  let slots = await adoption_.recover();
  if ("code" in slots) throw new Error("the fake world is never blind here");
  if (slots.last === null) slots = await adoption_.take(rig.began("new"));
  return { rig, slots };
}

for (const style of ["by_itself", "half"] as const) {
  for (const cut of [false, true]) {
    // A power cut in the middle of moving a pointer is the bundle backend's own test.
    if (cut && style === "half") continue;
    for (const one of CASES) {
      const name = `${style}${cut ? ", power cut" : ""}: ${one.name}`;
      Deno.test(`crash: ${name}`, async () => {
        const seen = new Set<string>();
        const counted = await everyMoment(async (disk, { deaths }) => {
          const { rig, slots } = await live(disk, style, one.set, cut, deaths.length > 0);
          const end = slots.last?.ending.kind;
          const allowed = deaths.length === 0
            ? [one.end]
            : [one.end, ...(one.also ?? []), ...(cut ? one.cut ?? [] : [])];
          assert.ok(
            end !== undefined && allowed.includes(end),
            `${end}: ${JSON.stringify(slots.last)}`,
          );
          seen.add(end);
          assert.equal(slots.attempt, null, "an attempt is stuck");
          assert.equal(slots.manual, null);
          assert.equal(rig.world.current, end === "known-good" ? "new" : "old");
          // Never blessed unprobed: what is proven runs, and a verdict on it is in the journal.
          const entries = await rig.entries().read();
          const judged = entries.some(({ kind }, at) => {
            const entry = entries[at];
            return kind === "done" && entry?.kind === "done" && entry.event.kind === "judged_good";
          });
          assert.equal(slots.proven !== null, end === "known-good");
          if (slots.proven !== null) assert.ok(judged && slots.proven.path === rig.world.current);
          // Every attempt left exactly one record.
          const ids = rig.records.map(({ last }) => last?.attempt);
          assert.equal(new Set(ids).size, ids.length);
          assert.equal(ids.at(-1), slots.last?.attempt);
          // What is selected is what runs, or the next boot would surprise somebody.
          assert.equal(rig.world.selected, rig.world.current);
        }, 2);
        console.log(`${name}: ${counted} moments, endings ${[...seen].sort().join(", ")}`);
        assert.equal(counted, one.moments[style]);
        assert.ok(seen.has(one.end));
      });
    }
  }
}
