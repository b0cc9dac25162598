import assert from "node:assert/strict";
import { AdoptionRig, provenOnce } from "../testing/adoption_rig.ts";
import { everyMoment } from "../testing/every_moment.ts";
import { FakeWorld, type LaunchStyle } from "../testing/fake_backend.ts";
import type { FakeDisk } from "../testing/fake_disk.ts";
import type { Event } from "./event.ts";
import { type EndingKind, NO_SLOTS } from "./slots.ts";

/** `here` was installed by hand: what its proof comes to, and the way back after a bad one. */
interface Case {
  readonly name: string;
  readonly set: (rig: AdoptionRig) => void;
  /** Another generation that was proven before; null: none ever was. */
  readonly proven: string | null;
  readonly purpose: "prove" | "back";
  readonly end: EndingKind;
  /** Besides `end`, after power was lost: then `here` runs, as it did before. */
  readonly cut?: readonly EndingKind[];
  readonly moments: { readonly [style in LaunchStyle]: number };
}

const bad = (rig: AdoptionRig) => {
  rig.facts.probe = (current) => ({ state: current === "here" ? "fail" : "pass", code: "down" });
};

const CASES: readonly Case[] = [
  {
    name: "good",
    set: () => {},
    proven: null,
    purpose: "prove",
    end: "known-good",
    moments: { by_itself: 37, half: 37 },
  },
  {
    name: "bad, and nothing was ever proven",
    set: bad,
    proven: null,
    purpose: "prove",
    end: "failed",
    moments: { by_itself: 23, half: 23 },
  },
  {
    name: "damaged bytes",
    set: (rig) => rig.world.generations.set("here", { whole: false, kernel: "k1" }),
    proven: null,
    purpose: "prove",
    end: "refused",
    moments: { by_itself: 17, half: 17 },
  },
  {
    name: "good, another proven before",
    set: () => {},
    proven: "old",
    purpose: "prove",
    end: "known-good",
    moments: { by_itself: 40, half: 40 },
  },
  {
    name: "bad, another proven before",
    set: bad,
    proven: "old",
    purpose: "prove",
    end: "failed",
    moments: { by_itself: 26, half: 26 },
  },
  {
    name: "the way back from a bad one",
    set: bad,
    proven: "old",
    purpose: "back",
    end: "rolled-back",
    // Power lost before the verdict boots what was there before, as on every way.
    cut: ["rolled-back", "failed"],
    moments: { by_itself: 50, half: 51 },
  },
];

const rigs = new WeakMap<FakeDisk, AdoptionRig>();

function rigOn(disk: FakeDisk, style: LaunchStyle, set: Case["set"]): AdoptionRig {
  let rig = rigs.get(disk);
  if (rig === undefined) {
    rig = new AdoptionRig(new FakeWorld(), disk, style);
    const { world } = rig;
    world.generations.set("here", { whole: true, kernel: "k1" });
    world.current =
      world.booted =
      world.selected =
      world.bootDefault =
        "here";
    set(rig);
    rigs.set(disk, rig);
  }
  return rig;
}

function beganOf(rig: AdoptionRig, purpose: "prove" | "back"): Event {
  const began = rig.began(purpose === "prove" ? "here" : "old", [], purpose);
  return began.kind === "began" && purpose === "back" ? { ...began, candidate: null } : began;
}

for (const style of ["by_itself", "half"] as const) {
  for (const cut of [false, true]) {
    // A power cut in the middle of moving a pointer is the bundle backend's own test.
    if (cut && style === "half") continue;
    for (const one of CASES) {
      const { name, set, proven, purpose, end, moments } = one;
      const title = `${style}${cut ? ", power cut" : ""}: ${name}`;
      Deno.test(`crash, proof: ${title}`, async () => {
        const seen = new Set<string>();
        const counted = await everyMoment(async (disk, { deaths }) => {
          const rig = rigOn(disk, style, set);
          if (cut && deaths.length > 0) rig.world.powerCycle();
          let slots = await rig.open().recover();
          assert.ok(!("code" in slots));
          if (proven !== null && slots.proven === null) {
            const before = { ...NO_SLOTS, proven: provenOnce(proven) };
            slots = await rig.open().note({ kind: "snapshot", slots: before });
          }
          if (slots.last === null) slots = await rig.open().take(beganOf(rig, purpose));
          assert.equal(slots.attempt, null, "an attempt is stuck");
          assert.equal(slots.manual, null, JSON.stringify(slots.manual));
          const found = slots.last?.ending.kind;
          const allowed = [end, ...(cut && deaths.length > 0 ? one.cut ?? [] : [])];
          assert.ok(found !== undefined && allowed.includes(found), JSON.stringify(slots.last));
          seen.add(`${found} ${slots.last?.ending.code}`);
          const back = slots.last?.ending.code === "current_not_good" && found === "rolled-back";
          assert.equal(rig.world.current, back ? "old" : "here");
          assert.equal(rig.world.selected, rig.world.current);
          assert.equal(slots.proven?.path ?? null, end === "known-good" ? "here" : proven);
          // Never blessed unprobed.
          const entries = await rig.entries().read();
          const judged = entries.some((one) =>
            one.kind === "done" && one.event.kind === "judged_good"
          );
          if (purpose === "prove") {
            assert.equal(judged, end === "known-good");
            assert.equal(rig.world.launches.size, 0, "something was launched");
            assert.deepEqual(rig.world.switches, [], "something was switched");
            assert.deepEqual(rig.world.commits, [], "the boot loader was told");
          } else if (back) {
            assert.ok(judged && rig.world.bootDefault === "old");
          }
          const ids = rig.records.map(({ last }) => last?.attempt);
          assert.equal(new Set(ids).size, ids.length, "an attempt left two records");
          assert.equal(ids.at(-1), slots.last?.attempt);
        }, 2);
        console.log(`proof, ${title}: ${counted} moments, ${[...seen].sort().join(", ")}`);
        assert.equal(counted, moments[style]);
      });
    }
  }
}
