/**
 * What every implementation of the backend port promises. Run on the fake, on the real store of
 * bundles, and on real Nix.
 *
 * @module
 */

import assert from "node:assert/strict";
import type { Backend, Facts, LaunchAsk } from "../adoption/backend.ts";
import type { Candidate } from "../adoption/candidate.ts";

/** A host with a backend, on which one generation runs. */
export interface BackendRig extends AsyncDisposable {
  readonly backend: Backend;
  /** A candidate that can be staged. */
  candidate(name: string): Promise<Candidate>;
  /** Changes a byte of a generation that is here. */
  damage(path: string): Promise<void>;
}

/** Registers the tests; `make` gives a fresh rig. */
export function backendConformance(
  name: string,
  make: () => Promise<BackendRig>,
  ignore = false,
): void {
  const test = (what: string, fn: (rig: BackendRig) => Promise<void>) =>
    Deno.test({
      name: `backend ${name}: ${what}`,
      ignore,
      fn: async () => {
        await using rig = await make();
        await fn(rig);
      },
    });

  test("staging touches nothing that runs, checks every byte, and may be repeated", async (rig) => {
    const { backend } = rig;
    const before = await factsOf(backend);
    const one = await rig.candidate("one");
    const missing = await backend.missing(one);
    assert.ok(missing === null || missing > 0, `${missing}`);
    for (let times = 0; times < 2; times++) {
      const staged = await backend.stage({ candidate: one, deadlineMs: 60_000 });
      assert.deepEqual(staged, { kind: "staged", path: one.id }, JSON.stringify(staged));
    }
    assert.equal(await backend.missing(one), 0);
    assert.deepEqual(await factsOf(backend), before);
    assert.deepEqual(await backend.verify(one.id, one), { kind: "ok" });
    await rig.damage(one.id);
    const damaged = await backend.verify(one.id, one);
    assert.ok(damaged.kind === "refused" && damaged.class === "integrity", JSON.stringify(damaged));
  });

  test("a launch has the effect of one, however often it is asked for; inspect knows it", async (rig) => {
    const { backend } = rig;
    const { current } = await factsOf(backend);
    const one = await staged(rig, "one");
    const ask = asked(one.id, current, "activate");
    assert.deepEqual(await backend.inspect(ask), { kind: "never_started" });
    for (let times = 0; times < 2; times++) {
      const launch = await backend.launch(ask);
      assert.equal(launch.kind, "switched", JSON.stringify(launch));
      assert.equal((await factsOf(backend)).current, one.id);
      assert.equal((await factsOf(backend)).selected, one.id);
    }
    assert.notEqual((await backend.inspect(ask)).kind, "never_started");
    assert.equal((await factsOf(backend)).current, one.id, "inspecting changed what runs");
    assert.deepEqual(await backend.commit(one.id), { kind: "ok" });
    assert.deepEqual(await backend.commit(one.id), { kind: "ok" });
    await backend.forget(ask.attempt);
    await backend.forget(ask.attempt);
  });

  test("the way back is a launch too, of its own step", async (rig) => {
    const { backend } = rig;
    const { current } = await factsOf(backend);
    assert.ok(current !== null);
    const one = await staged(rig, "one");
    await backend.launch(asked(one.id, current, "activate"));
    const back = asked(current, one.id, "revert");
    assert.equal((await backend.inspect(back)).kind, "never_started");
    assert.equal((await backend.launch(back)).kind, "switched");
    const after = await factsOf(backend);
    assert.deepEqual([after.current, after.selected], [current, current]);
  });

  test("retention keeps what it is told, and what runs in any case", async (rig) => {
    const { backend } = rig;
    const { current } = await factsOf(backend);
    const [kept, , next] = [
      await staged(rig, "kept"),
      await staged(rig, "gone"),
      await staged(rig, "next"),
    ];
    await backend.launch(asked(next.id, current, "activate"));
    const done = await backend.collect([kept.id]);
    assert.ok(done.kind === "ok", JSON.stringify(done));
    assert.ok(done.removed >= 1);
    assert.deepEqual(await backend.verify(kept.id, kept), { kind: "ok" });
    assert.deepEqual(await backend.verify(next.id, next), { kind: "ok" });
    assert.equal((await factsOf(backend)).current, next.id);
    const again = await backend.collect([kept.id]);
    assert.deepEqual(again, { kind: "ok", removed: 0 });
  });

  test("what is not here is not verified, and impact is of what is", async (rig) => {
    const { backend } = rig;
    const absent = await rig.candidate("absent");
    const seen = await backend.verify(absent.id, absent);
    assert.ok(seen.kind === "refused" && seen.class === "environment", JSON.stringify(seen));
    const one = await staged(rig, "one");
    const impact = await backend.impact(one.id, null);
    assert.ok(!("kind" in impact), JSON.stringify(impact));
    assert.equal(impact.mode, "switch");
    assert.ok(impact.restart.length > 0);
  });
}

async function staged(rig: BackendRig, name: string): Promise<Candidate> {
  const one = await rig.candidate(name);
  const done = await rig.backend.stage({ candidate: one, deadlineMs: 60_000 });
  assert.equal(done.kind, "staged", JSON.stringify(done));
  return one;
}

async function factsOf(backend: Backend): Promise<Facts> {
  const facts = await backend.facts();
  if (facts.kind === "refused") throw new Error(JSON.stringify(facts));
  return facts;
}

function asked(path: string, previous: string | null, step: LaunchAsk["step"]): LaunchAsk {
  return { attempt: "a-c", step, path, previous, mode: "switch", deadlineMs: 30_000 };
}
