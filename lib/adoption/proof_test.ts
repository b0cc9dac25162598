import assert from "node:assert/strict";
import { AdoptionRig, provenOnce } from "../testing/adoption_rig.ts";
import { FakeWorld } from "../testing/fake_backend.ts";
import { Died, FakeDisk } from "../testing/fake_disk.ts";
import { observed } from "./gate.ts";
import { NO_SLOTS, type Slots } from "./slots.ts";

/** A host on which somebody installed `here`, and on which nothing was ever adopted. */
function rigOf(set: (rig: AdoptionRig) => void = () => {}): AdoptionRig {
  const rig = new AdoptionRig(new FakeWorld(), new FakeDisk(), "by_itself");
  rig.world.generations.set("here", { whole: true, kernel: "k1" });
  rig.world.current = rig.world.booted = rig.world.selected = "here";
  set(rig);
  return rig;
}

async function proves(rig: AdoptionRig, despite: Parameters<AdoptionRig["began"]>[1] = []) {
  return await rig.open().take(rig.began("here", despite, "prove"));
}

async function goesBack(rig: AdoptionRig): Promise<Slots> {
  const began = rig.began("old", [], "back");
  assert.ok(began.kind === "began");
  return await rig.open().take({ ...began, candidate: null });
}

/** `old` was proven here once; somebody else made `here` the running one. */
async function provedBefore(rig: AdoptionRig): Promise<void> {
  await rig.open().note({ kind: "snapshot", slots: { ...NO_SLOTS, proven: provenOnce("old") } });
}

function ended({ last }: Slots): readonly [string | undefined, string | undefined] {
  return [last?.ending.kind, last?.ending.code];
}

function untouched(rig: AdoptionRig): void {
  assert.deepEqual(rig.world.switches, [], "something was switched");
  assert.equal(rig.world.launches.size, 0, "something was launched");
  assert.deepEqual(rig.world.commits, [], "the boot loader was told");
}

const down = { state: "fail", code: "down" } as const;

Deno.test("proof: what runs passes over the whole window: known good, and nothing was touched", async () => {
  const asked: number[] = [];
  const rig = rigOf((one) =>
    one.facts.probe = () => {
      asked.push(one.clock.monotonic());
      return { state: "pass" };
    }
  );
  const slots = await proves(rig);
  assert.deepEqual(ended(slots), ["known-good", "proven"], JSON.stringify(slots.last));
  assert.equal(slots.proven?.path, "here");
  assert.equal(slots.proven?.rev, "rev-here");
  // One look before, then clean samples that span the window.
  assert.ok((asked.at(-1) ?? 0) - (asked[1] ?? 0) >= rig.rules.verdict.windowMs, asked.join());
  assert.equal(slots.last?.previous, null, "nothing ran before that is known");
  untouched(rig);
});

Deno.test("proof: gates are not asked for what disturbs nothing", async () => {
  const rig = rigOf((one) => one.facts.gate = () => observed("busy", "requests_in_flight", "one"));
  rig.rules = { ...rig.rules, restartSensitive: ["thing.service"] };
  assert.deepEqual(ended(await proves(rig)), ["known-good", "proven"]);
});

Deno.test("proof: what fails all along is not blessed because it failed at the first look too", async () => {
  const rig = rigOf((one) => one.facts.probe = () => down);
  const slots = await proves(rig);
  assert.deepEqual(ended(slots), ["failed", "current_not_good"], JSON.stringify(slots.last));
  assert.match(slots.last?.ending.detail ?? "", /probe_failed: health down/);
  assert.deepEqual(slots.last?.ending.evidence?.failed.map(({ probe }) => probe), ["health"]);
  assert.equal(slots.proven, null);
  assert.equal(slots.manual, null, "a good candidate could not be adopted any more");
  // Nothing was changed, so nothing says that the candidate is to blame: it is tried again.
  assert.deepEqual(slots.rejected.map((one) => one.class), ["environment"]);
  untouched(rig);
});

Deno.test("proof: slow to come up is not bad: clean samples by the deadline are enough", async () => {
  const rig = rigOf((one) => one.facts.probe = (_, asked) => asked < 3 ? down : { state: "pass" });
  assert.deepEqual(ended(await proves(rig)), ["known-good", "proven"]);
});

Deno.test("proof: a required probe that cannot tell stops it, a person may go on", async () => {
  const rig = rigOf((one) => one.facts.probe = () => ({ state: "unknown" }));
  assert.deepEqual(ended(await proves(rig)), ["refused", "cannot_judge"]);
  assert.deepEqual(ended(await proves(rig, ["baseline"])), ["known-good", "proven"]);
});

Deno.test("proof: it falls silent in the window: not known good", async () => {
  const rig = rigOf((one) =>
    one.facts.probe = (_, asked) => ({ state: asked === 0 ? "pass" : "unknown" })
  );
  const slots = await proves(rig);
  assert.deepEqual(ended(slots), ["failed", "current_not_good"]);
  assert.match(slots.last?.ending.detail ?? "", /probe_silent/);
});

Deno.test("proof: bytes that are not what was signed, and an offer that ran out, prove nothing", async () => {
  const damaged = rigOf((one) => one.world.generations.set("here", { whole: false, kernel: "k1" }));
  const slots = await proves(damaged);
  assert.deepEqual(ended(slots), ["refused", "bytes_differ"]);
  assert.deepEqual(slots.rejected.map((one) => one.class), ["integrity"]);
  const late = rigOf((one) => one.clock.leap(60 * 24 * 3_600_000));
  assert.deepEqual(ended(await proves(late)), ["refused", "expired"]);
});

Deno.test("proof: somebody else moves what runs: hands off", async () => {
  const before = rigOf((one) => one.world.current = "third");
  assert.deepEqual(ended(await proves(before)), ["superseded", "superseded"]);
  const meanwhile = rigOf((one) =>
    one.facts.probe = (_, asked) => {
      if (asked === 1) one.world.current = "third";
      return { state: "pass" };
    }
  );
  const slots = await proves(meanwhile);
  assert.deepEqual(ended(slots), ["superseded", "superseded"]);
  assert.deepEqual([meanwhile.world.current, slots.proven], ["third", null]);
  assert.deepEqual(slots.rejected, []);
  untouched(meanwhile);
});

Deno.test("proof: another one was proven and what runs is bad: told, and nothing is moved by the proof", async () => {
  const rig = rigOf((one) => one.facts.probe = () => down);
  await provedBefore(rig);
  const slots = await proves(rig);
  assert.deepEqual(ended(slots), ["failed", "current_not_good"], JSON.stringify(slots.last));
  assert.match(slots.last?.ending.detail ?? "", /rev-old was proven last/);
  assert.equal(slots.proven?.path, "old");
  untouched(rig);
});

Deno.test("going back after a bad proof: gates hold, and its end is loud", async () => {
  const rig = rigOf((one) =>
    one.facts.probe = (current) => current === "here" ? down : { state: "pass" }
  );
  await provedBefore(rig);
  await proves(rig);
  rig.facts.gate = () => observed("busy", "requests_in_flight", "one");
  assert.deepEqual(ended(await goesBack(rig)), ["deferred", "gates_not_clear"]);
  untouched(rig);
  rig.facts.gate = () => observed("clear", "idle", "nothing in flight");
  const slots = await goesBack(rig);
  assert.deepEqual(ended(slots), ["rolled-back", "current_not_good"], JSON.stringify(slots.last));
  assert.deepEqual([rig.world.current, rig.world.selected, rig.world.bootDefault], [
    ...["old", "old", "old"],
  ]);
  assert.deepEqual(rig.world.commits, ["old"], "the next boot would bring what is not good");
  assert.deepEqual(slots.proven, provenOnce("old"), "it was proven before, and stays so");
  const [rejected] = slots.rejected;
  assert.deepEqual(
    [rejected?.id, rejected?.class],
    ["here", "candidate"],
    "old passes, it did not",
  );
});

Deno.test("going back after a bad proof: the proven one fails the same way: it stays, nobody is to blame", async () => {
  const rig = rigOf((one) => one.facts.probe = () => down);
  await provedBefore(rig);
  await proves(rig);
  const slots = await goesBack(rig);
  assert.deepEqual(ended(slots), ["rolled-back", "current_not_good"], JSON.stringify(slots.last));
  assert.match(
    slots.last?.ending.detail ?? "",
    /the cause is elsewhere: probe_failed: health down/,
  );
  assert.equal(rig.world.current, "old");
  assert.equal(rig.world.switches.length, 1, "it went to and fro");
  assert.deepEqual(slots.rejected.map((one) => one.class), ["environment"]);
});

Deno.test("proof: good, and the one proven before can be gone back to", async () => {
  const rig = rigOf((one) => one.world.generations.set("stray", { whole: true, kernel: "k1" }));
  await provedBefore(rig);
  const slots = await proves(rig);
  assert.deepEqual(ended(slots), ["known-good", "proven"]);
  assert.equal(slots.last?.previous, "old");
  assert.deepEqual(rig.world.collected, ["stray"], "retention took the way back");
  untouched(rig);
});

Deno.test("proof: good, and something else is selected: known good, told, the pointer left alone", async () => {
  const rig = rigOf((one) => one.world.selected = "old");
  const slots = await proves(rig);
  assert.deepEqual(ended(slots), ["known-good", "proven_not_boot_default"]);
  assert.equal(rig.world.selected, "old");
  untouched(rig);
});

Deno.test("proof: taken back while the plug was out: not proven, nothing is reverted", async () => {
  const rig = rigOf();
  await provedBefore(rig);
  let asked = 0;
  rig.facts.probe = () => {
    if (asked++ === 1) rig.disk.dieAt(0);
    return { state: "pass" };
  };
  await assert.rejects(() => proves(rig), Died);
  rig.disk.restart();
  await rig.open().note({
    ...{ kind: "taken_back", channel: "rolling", sequence: 2, payload_digest: "d" },
    ...{ withdrawn: ["here"], at: "2026-01-01T01:00:00.000Z" },
  });
  const slots = await rig.open().recover();
  assert.ok(!("code" in slots));
  assert.deepEqual(ended(slots), ["refused", "candidate_withdrawn"]);
  assert.equal(slots.proven?.path, "old");
  untouched(rig);
});

Deno.test("proof: power lost in the window: the next life takes a whole window anew", async () => {
  const rig = rigOf((one) => one.world.bootDefault = "here");
  let lives = 0;
  rig.facts.probe = () => {
    if (lives === 0 && rig.clock.monotonic() > 0) rig.disk.dieAt(0);
    return { state: "pass" };
  };
  await assert.rejects(() => proves(rig), Died);
  rig.disk.restart();
  rig.world.powerCycle();
  lives++;
  // The wall clock was set far back, or forward: spans are not measured by it.
  rig.clock.leap(24 * 3_600_000);
  const from = rig.clock.monotonic();
  const slots = await rig.open().recover();
  assert.ok(!("code" in slots));
  assert.deepEqual(ended(slots), ["known-good", "proven"]);
  assert.ok(rig.clock.monotonic() - from >= rig.rules.verdict.windowMs, "half a window blessed it");
});

Deno.test("proof: power lost in the window, and the machine boots something else: hands off", async () => {
  const rig = rigOf((one) =>
    one.facts.probe = () => {
      one.disk.dieAt(3);
      return { state: "pass" };
    }
  );
  await provedBefore(rig);
  await assert.rejects(() => proves(rig), Died);
  rig.disk.restart();
  rig.facts.probe = () => ({ state: "pass" });
  rig.world.powerCycle();
  assert.equal(rig.world.current, "old");
  const slots = await rig.open().recover();
  assert.ok(!("code" in slots));
  assert.deepEqual(ended(slots), ["superseded", "superseded"]);
  untouched(rig);
});

Deno.test("proof: what waits for a boot goes on waiting", async () => {
  const rig = rigOf();
  const pending = {
    ...{ path: "old", candidate: null, direction: "forward", previous: "here" } as const,
    ...{ revert_to: "here", baseline: null, boot_id: "boot-0", since: "2026-01-01T00:00:00.000Z" },
  };
  await rig.open().note({ kind: "snapshot", slots: { ...NO_SLOTS, pending } });
  const slots = await proves(rig);
  assert.deepEqual(ended(slots), ["known-good", "proven"]);
  assert.deepEqual(slots.pending, pending);
});
