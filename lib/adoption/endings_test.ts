import assert from "node:assert/strict";
import { AdoptionRig } from "../testing/adoption_rig.ts";
import { FakeWorld } from "../testing/fake_backend.ts";
import { Died, FakeDisk } from "../testing/fake_disk.ts";
import { observed } from "./gate.ts";
import type { Slots } from "./slots.ts";

const HOUR = 3_600_000;

function rigOf(set: (rig: AdoptionRig) => void = () => {}): AdoptionRig {
  const rig = new AdoptionRig(new FakeWorld(), new FakeDisk(), "by_itself");
  rig.world.generations.set("new", { whole: true, kernel: "k1" });
  set(rig);
  return rig;
}

const bad = (rig: AdoptionRig) => {
  rig.facts.probe = (current) => ({ state: current === "new" ? "fail" : "pass", code: "down" });
};

async function recovered(rig: AdoptionRig): Promise<Slots> {
  const slots = await rig.open().recover();
  if ("code" in slots) throw new Error(slots.detail);
  return slots;
}

/** Dies at `moment` of an attempt, as a machine does whose plug is pulled. */
async function diesAt(rig: AdoptionRig, moment: number): Promise<void> {
  rig.disk.dieAt(moment);
  await assert.rejects(() => rig.open().take(rig.began("new")), Died);
  rig.disk.restart();
}

Deno.test("endings: somebody else moves what runs while it is probed: hands off", async () => {
  const rig = rigOf();
  rig.facts.probe = (_, asked) => {
    if (asked === 1) rig.world.current = "third";
    return { state: "pass" };
  };
  const slots = await rig.open().take(rig.began("new"));
  assert.equal(slots.last?.ending.kind, "superseded");
  assert.equal(rig.world.current, "third", "it was moved back");
  assert.equal(slots.proven, null);
  assert.deepEqual(slots.rejected, [], "nobody is to blame");
});

Deno.test("endings: a way back that fails is a person's business, loud at every start", async () => {
  for (
    const [revert, code] of [["nothing", "revert_failed"], ["unknown", "revert_failed"]] as const
  ) {
    const rig = rigOf(bad);
    rig.world.revert = revert;
    const slots = await rig.open().take(rig.began("new"));
    assert.equal(slots.manual?.code, code, JSON.stringify(slots.last));
    assert.equal((await recovered(rig)).manual?.code, code);
  }
});

Deno.test("endings: the same probe fails on the earlier generation too: the candidate is not to blame", async () => {
  const rig = rigOf();
  rig.facts.probe = (_, asked) => ({ state: asked === 0 ? "pass" : "fail" });
  const slots = await rig.open().take(rig.began("new"));
  assert.equal(slots.last?.ending.kind, "rolled-back");
  assert.deepEqual(slots.rejected.map((one) => one.class), ["environment"]);
});

Deno.test("endings: the first adoption of a host has no way back, and says so", async () => {
  const rig = rigOf(bad);
  rig.facts.probe = (current) => ({ state: current === null ? "pass" : "fail" });
  rig.world.current = null;
  rig.world.selected = null;
  const slots = await rig.open().take(rig.began("new"));
  assert.equal(slots.manual?.code, "no_way_back");
});

Deno.test("endings: off for two months in the middle: the offer has expired, nothing is switched", async () => {
  // Baseline on record, nothing launched: then the plug, for sixty days.
  const rig = rigOf();
  await diesAt(rig, 11);
  assert.deepEqual(rig.world.switches, []);
  rig.clock.leap(60 * 24 * HOUR);
  const slots = await recovered(rig);
  assert.deepEqual([slots.last?.ending.kind, slots.last?.ending.code], ["refused", "expired"]);
  assert.deepEqual(rig.world.switches, []);
});

Deno.test("endings: taken back between switch and verdict: good probes do not prove it, it goes back", async () => {
  const rig = rigOf();
  rig.facts.probe = (current) => {
    // The plug is pulled while it is probed, before the verdict is on record.
    if (current === "new") rig.disk.dieAt(0);
    return { state: "pass" };
  };
  await assert.rejects(() => rig.open().take(rig.began("new")), Died);
  rig.disk.restart();
  rig.facts.probe = () => ({ state: "pass" });
  assert.equal(rig.world.current, "new");
  await rig.open().note({
    ...{ kind: "taken_back", channel: "rolling", sequence: 2, payload_digest: "d" },
    ...{ withdrawn: ["new"], at: "2026-01-01T01:00:00.000Z" },
  });
  const slots = await recovered(rig);
  assert.deepEqual(
    [slots.last?.ending.kind, slots.last?.ending.code],
    ["rolled-back", "candidate_withdrawn"],
  );
  assert.equal(slots.proven, null);
  assert.equal(rig.world.current, "old");
});

Deno.test("endings: an old baseline is taken anew before the switch", async () => {
  const rig = rigOf();
  await diesAt(rig, 11);
  rig.clock.leap(2 * HOUR);
  const asked: (string | null)[] = [];
  rig.facts.probe = (current) => {
    asked.push(current);
    return { state: "pass" };
  };
  assert.equal((await recovered(rig)).last?.ending.kind, "known-good");
  assert.equal(asked[0], "old", "what was so two hours ago was taken for what is so");
});

Deno.test("endings: a gate that turns busy right before the switch defers it; --despite-gates does not ask", async () => {
  const rig = rigOf((one) => one.facts.gate = () => observed("unknown", "timed_out", ""));
  const slots = await rig.open().take(rig.began("new"));
  assert.equal(slots.last?.ending.kind, "deferred", "unknown is not clear");
  assert.equal(slots.waiting?.count, 1);
  const forced = await rig.open().take(rig.began("new", ["gates"]));
  assert.equal(forced.last?.ending.kind, "known-good");
  assert.deepEqual(forced.last?.overrides?.rules, ["gates"]);
  assert.equal(forced.waiting, null);
});

Deno.test("endings: a restart-sensitive unit waits for a person who says so", async () => {
  const rig = rigOf();
  rig.rules = { ...rig.rules, restartSensitive: ["thing.service"] };
  const slots = await rig.open().take(rig.began("new"));
  assert.deepEqual(slots.last?.ending.reasons.map(({ code }) => code), ["restart_sensitive"]);
  assert.deepEqual(rig.world.switches, []);
  const forced = await rig.open().take(rig.began("new", ["restart-sensitive"]));
  assert.equal(forced.last?.ending.kind, "known-good");
});

Deno.test("endings: a required probe that cannot tell before stops the attempt", async () => {
  const rig = rigOf((one) => one.facts.probe = () => ({ state: "unknown" }));
  const slots = await rig.open().take(rig.began("new"));
  assert.equal(slots.last?.ending.code, "cannot_judge");
  assert.deepEqual(rig.world.switches, []);
});

Deno.test("endings: retention runs after the verdict, keeps what it must, and cannot change it", async () => {
  const rig = rigOf();
  for (const name of ["a", "b"]) rig.world.generations.set(name, { whole: true, kernel: "k1" });
  const slots = await rig.open().take(rig.began("new"));
  assert.equal(slots.last?.ending.kind, "known-good");
  assert.deepEqual(rig.world.collected.toSorted(), ["a", "b"]);
  assert.ok(rig.world.generations.has("old") && rig.world.generations.has("new"));
});

Deno.test("endings: facts nobody can tell refuse the begin, and are told as such", async () => {
  const rig = rigOf((one) => one.world.blind = true);
  const slots = await rig.open().take(rig.began("new"));
  assert.equal(slots.last?.ending.code, "facts_unknown");
  assert.deepEqual(slots.rejected.map((one) => one.class), ["environment"]);
});
