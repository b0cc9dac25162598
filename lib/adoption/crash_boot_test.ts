import assert from "node:assert/strict";
import { AdoptionRig } from "../testing/adoption_rig.ts";
import { everyMoment } from "../testing/every_moment.ts";
import { FakeWorld } from "../testing/fake_backend.ts";
import { FakeDisk } from "../testing/fake_disk.ts";
import type { EndingKind, Slots } from "./slots.ts";

const rigs = new WeakMap<FakeDisk, AdoptionRig>();

function rigOn(disk: FakeDisk, set: (rig: AdoptionRig) => void): AdoptionRig {
  let rig = rigs.get(disk);
  if (rig === undefined) {
    rig = new AdoptionRig(new FakeWorld(), disk, "by_itself");
    rig.world.generations.set("new", { whole: true, kernel: "k2" });
    set(rig);
    rigs.set(disk, rig);
  }
  return rig;
}

async function recovered(rig: AdoptionRig): Promise<Slots> {
  const slots = await rig.open().recover();
  if ("code" in slots) throw new Error("the fake world is never blind here");
  return slots;
}

for (
  const { name, end, current, moments, set } of [
    { name: "good after the boot", end: "known-good", current: "new", moments: 58, set: () => {} },
    {
      name: "bad after the boot",
      end: "rolled-back",
      current: "old",
      moments: 75,
      set: (rig: AdoptionRig) =>
        rig.facts.probe = (running: string | null) => ({
          state: running === "new" ? "fail" : "pass",
        }),
    },
    {
      name: "another generation boots",
      end: "other-generation-booted",
      current: "old",
      moments: 36,
      set: () => {},
    },
  ] as const
) {
  Deno.test(`crash, boot path: ${name}`, async () => {
    const counted = await everyMoment(async (disk) => {
      const rig = rigOn(disk, set);
      let slots = await recovered(rig);
      if (slots.last === null) slots = await rig.open().take(rig.began("new"));
      for (let boots = 0; slots.pending !== null; boots++) {
        assert.ok(boots < 3, "it boots for ever");
        assert.equal(slots.proven, null, "blessed unprobed");
        assert.equal(slots.last?.ending.kind, "pending-boot");
        // The boot default went forward or back; `another` is a person at the boot menu.
        if (name === "another generation boots") rig.world.bootDefault = "old";
        rig.world.powerCycle();
        slots = await recovered(rig);
      }
      assert.equal(slots.attempt, null);
      assert.equal(slots.last?.ending.kind, end satisfies EndingKind);
      assert.equal(rig.world.current, current);
      if (end !== "other-generation-booted") assert.equal(rig.world.bootDefault, current);
      assert.equal(slots.proven?.path ?? null, end === "known-good" ? "new" : null);
    });
    console.log(`boot path, ${name}: ${counted} moments`);
    assert.equal(counted, moments);
  });
}

for (
  const [launch, end, current] of [
    ["hangs", "known-good", "new"],
    ["unknown", "failed", "old"],
    ["degraded", "known-good", "new"],
  ] as const
) {
  Deno.test(`crash: a launch that ${launch}`, async () => {
    const counted = await everyMoment(async (disk) => {
      const rig = rigOn(
        disk,
        ({ world }) => world.generations.set("new", { whole: true, kernel: "k1", launch }),
      );
      let slots = await recovered(rig);
      if (slots.last === null) slots = await rig.open().take(rig.began("new"));
      assert.equal(slots.last?.ending.kind, end);
      assert.equal(rig.world.current, current);
      assert.equal(rig.world.selected, current);
      assert.ok(rig.world.switches.length <= 2, rig.world.switches.join());
    });
    assert.ok(counted >= 20, `${counted}`);
  });
}

Deno.test("a launch that never ends is a person's business, and is never raced", async () => {
  const rig = rigOn(new FakeDisk(), ({ world }) => {
    world.generations.set("new", { whole: true, kernel: "k1", launch: "hangs" });
    world.patience = 1_000_000;
  });
  const slots = await rig.open().take(rig.began("new"));
  assert.equal(slots.manual?.code, "activation_still_running");
  assert.deepEqual(rig.world.switches, [], "something was launched beside it");
  const after = await rig.open().recover();
  assert.ok(
    !("code" in after) && after.manual !== null,
    "a restart forgot that a person must look",
  );
});
