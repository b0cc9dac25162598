import assert from "node:assert/strict";
import type { BootstrapCode } from "../../../lib/bootstrap/codes.ts";
import { type Plan, planSha256 } from "../../../lib/bootstrap/plan.ts";
import { refuse } from "../../../lib/core/refusal.ts";
import { sha256 } from "../../../lib/host/digest.ts";
import { archiveOf } from "../../../lib/testing/bundle_rig.ts";
import { bootstrapRig } from "../../../tests/support/bootstrap_rig.ts";
import { ID, ONE, TWO } from "../../../tests/support/receiver_rig.ts";
import { type Applied, applyPlan, type BootstrapPorts, settleAnswering } from "./apply.ts";
import { type AgentSeen, refuseAgent } from "./judge_agent.ts";

const GOOD = ["planned", "staged", "verified", "installed", "activated", "restarted", "accepted"];

Deno.test("bootstrap: a bare host gets its first agent, and the next one", async () => {
  const { apply, host, receipts } = await bootstrapRig();
  assert.deepEqual((await apply(ONE, 1)).phases, GOOD);
  const second = await apply(TWO, 2);
  assert.deepEqual([second.phases, second.error], [GOOD, null]);
  assert.equal(host.running.at(-1), host.digest(TWO));
  // Each phase was on the disk before the next began.
  assert.deepEqual(receipts.slice(-7).map(({ phases }) => phases.length), [1, 2, 3, 4, 5, 6, 7]);
});

Deno.test("bootstrap: another node, version, build, protocol or catalogue is rolled back", async () => {
  for (
    const health of [
      { node: "n2" },
      { version: "9" },
      { build_digest: "9".repeat(64) },
      { protocol: 2 },
      { catalogue_digest: "9".repeat(64) },
    ]
  ) {
    const { apply, host, world } = await bootstrapRig();
    await apply(ONE, 1);
    world.health = health;
    const bad = await apply(TWO, 2);
    assert.equal(host.running.at(-1), host.digest(ONE));
    assert.deepEqual([bad.end, bad.error], ["rolled_back", "acceptance_failed"]);
    assert.ok(bad.phases.includes("rollback_started"));
  }
});

Deno.test("bootstrap: what answers after a way back is judged: an attempted restore is no success", async () => {
  for (const health of [{ node: "n2" }, { version: "9" }, { build_digest: "9".repeat(64) }]) {
    const { apply, host, world } = await bootstrapRig();
    await apply(ONE, 1);
    Object.assign(world, { health, lying: [ONE, TWO] });
    const bad = await apply(TWO, 2);
    assert.equal(host.running.at(-1), host.digest(ONE));
    assert.deepEqual([bad.end, bad.error], ["manual_recovery", "acceptance_failed"]);
  }
});

Deno.test("bootstrap: an agent that never comes up, without and with one before", async () => {
  const first = await bootstrapRig();
  first.host.supervisor = "fails";
  const bare = await first.apply(ONE, 1);
  assert.deepEqual([bare.end, bare.error], ["manual_recovery", "no_prior_generation"]);
  const { apply, host } = await bootstrapRig();
  await apply(ONE, 1);
  host.supervisor = "fails";
  const bad = await apply(TWO, 2);
  // The supervisor fails on the way back as well.
  assert.deepEqual([bad.end, bad.error], ["manual_recovery", "restart_failed"]);
  for (const restored of [true, false]) {
    const silent = await bootstrapRig();
    await silent.apply(ONE, 1);
    silent.world.silent = restored ? [TWO] : [ONE, TWO];
    const never = await silent.apply(TWO, 2);
    assert.deepEqual([never.end, never.error], [
      restored ? "rolled_back" : "manual_recovery",
      "acceptance_failed",
    ]);
    assert.equal(silent.host.running.at(-1), silent.host.digest(ONE));
  }
});

Deno.test("bootstrap: a lost answer is asked about, and nothing is done twice", async () => {
  for (const verb of ["stage", "activate"]) {
    for (const when of ["before", "after"]) {
      const { apply, host, lose } = await bootstrapRig();
      lose.add(`${when} ${verb}`);
      assert.deepEqual((await apply(ONE, 1)).phases, GOOD, `${when} ${verb}`);
      assert.equal(host.running.length, 1);
    }
  }
  const { apply, host, lose, world } = await bootstrapRig();
  await apply(ONE, 1);
  world.health = { version: "9" };
  lose.add("after rollback");
  assert.equal((await apply(TWO, 2)).end, "rolled_back");
  assert.equal(host.running.length, 3);
});

Deno.test("bootstrap: a receiver that goes away leaves an open receipt, and no guess", async () => {
  for (const when of ["before", "after"]) {
    for (const [verb, phase] of [["stage", "planned"], ["activate", "installed"]] as const) {
      const { apply, again, host, lose, world } = await bootstrapRig();
      world.silent = [ONE]; // or its agent would settle it
      lose.add(`${when} ${verb}`);
      for (let look = 0; look <= world.patience; look++) lose.add(`status ${look}`);
      const lost = await apply(ONE, 1);
      assert.deepEqual([lost.end, lost.error, lost.code], [phase, "may_have_executed", 3]);
      world.silent = [];
      const done = await again();
      // An agent that answers by now settles it; otherwise each phase is passed.
      const isUp = `${when} ${verb}` === "after activate";
      const phases = isUp ? [...GOOD.slice(0, 4), "accepted"] : GOOD;
      assert.deepEqual([done.phases, done.error, done.code], [phases, null, 0]);
      assert.deepEqual(host.running, [host.digest(ONE)], `${when} ${verb}`);
      // What is settled is told again, and nobody is asked.
      assert.deepEqual(await again(), done);
    }
  }
});

Deno.test("bootstrap: a receiver that is busy with what was lost is waited for", async () => {
  const { apply, host, lose } = await bootstrapRig();
  for (const one of ["after stage", "busy 0", "busy 1"]) lose.add(one);
  assert.deepEqual((await apply(ONE, 1)).phases, GOOD);
  assert.equal(host.running.length, 1);
});

Deno.test("bootstrap: an activation that is refused before it begins is refused, not gone back from", async () => {
  const { apply, host, world } = await bootstrapRig();
  await apply(ONE, 1);
  world.beforeActivate = () => host.replaces = "not_atomic";
  const refused = await apply(TWO, 2);
  assert.deepEqual([refused.end, refused.error], ["refused", "no_atomic_replace"]);
  assert.ok(!refused.phases.includes("rollback_started"));
  world.beforeActivate = () => host.write({ bootstrap_authorized: false });
  host.replaces = "atomic";
  const forbidden = await apply(TWO, 3);
  assert.deepEqual([forbidden.end, forbidden.error], ["refused", "receiver_mismatch"]);
  assert.deepEqual(host.running, [host.digest(ONE)]);
});

Deno.test("bootstrap: a prior generation that is gone is nothing to go back to", async () => {
  const { apply, host, world, planFor } = await bootstrapRig();
  await apply(ONE, 1);
  world.health = { version: "9" };
  world.beforeActivate = () => host.forget(ONE);
  const bad = await apply(TWO, 2);
  assert.deepEqual([bad.end, bad.error], ["manual_recovery", "no_prior_generation"]);
  // Before an activation, a plan says so.
  const other = await bootstrapRig();
  await other.apply(ONE, 1);
  assert.equal((await other.planFor(TWO)).prior?.build_digest, "1".repeat(64));
  other.host.forget(ONE);
  assert.equal((await other.planFor(TWO)).prior, null);
  assert.notEqual(await planFor(ONE), null);
});

Deno.test("bootstrap: an agent that answers, rejects or is uncertain keeps the receiver out", async () => {
  const codes: Readonly<Record<AgentSeen["kind"], BootstrapCode | null>> = {
    answers: "agent_available",
    rejects: "auth_rejected",
    uncertain: "precondition_failed",
    absent: null,
  };
  for (const [kind, code] of Object.entries(codes)) {
    const seen = { kind, health: {} } as AgentSeen;
    assert.equal(refuseAgent(seen)?.code ?? null, code);
    if (code === null) continue;
    const { ports, receipts, host } = await bootstrapRig();
    const applied = await applyPlan({ ...ports, agent: () => Promise.resolve(seen) }, {
      plan: {} as Plan, // not looked at
      planDigest: "d".repeat(64),
      operationId: ID(1),
      bundle: new Uint8Array(0),
      by: "t",
      kept: null,
    });
    assert.equal(applied.kind === "refused" && applied.code, code);
    assert.deepEqual([receipts.length, host.generations().length], [0, 0]);
  }
});

Deno.test("bootstrap: without a receipt nothing begins; a disk that fills up later is told", async () => {
  const { apply, ports, host, world } = await bootstrapRig();
  const refusing = { ...ports, record: () => Promise.resolve(refuse("file_no_space", "full")) };
  const plan = {
    expected_node: "n1",
    bundle: { manifest_digest: "a".repeat(64), build_digest: "a".repeat(64) },
  };
  const applied = await applyPlan(refusing, {
    plan: plan as Plan,
    planDigest: "d".repeat(64),
    operationId: ID(1),
    bundle: new Uint8Array(0),
    by: "t",
    kept: null,
  });
  assert.equal(applied.kind === "refused" && applied.code, "file_no_space");
  assert.deepEqual(host.generations(), []);
  world.full = true;
  const full = await apply(ONE, 2);
  assert.deepEqual(full.phases, [...GOOD, "cleanup_failed"]);
});

Deno.test("bootstrap: the operator's machine dies before or after each step, and goes on", async () => {
  let steps = 0;
  for (let death = 0; death === 0 || death < steps; death++) {
    const { ports, host, world, planFor } = await bootstrapRig();
    const plan = await planFor(ONE);
    const ask = {
      plan,
      planDigest: planSha256(sha256, plan),
      operationId: ID(1),
      bundle: await archiveOf(ONE) as Uint8Array<ArrayBuffer>,
      by: "t",
      kept: null,
    };
    let at = 0;
    const dying =
      <Args extends unknown[], Out>(act: (...args: Args) => Promise<Out>) =>
      async (...args: Args): Promise<Out> => {
        if (at++ === death) throw new Error("died");
        const out = await act(...args);
        if (at++ === death) throw new Error("died");
        return out;
      };
    // The agent is down until it is activated.
    const agent = () => {
      world.instead = host.running.length === 0 ? "absent" : null;
      return ports.agent();
    };
    const mortal: BootstrapPorts = {
      ...ports,
      ask: dying(ports.ask),
      agent: dying(agent),
      record: dying(ports.record),
    };
    let applied: Applied | null = null;
    if (steps === 0) {
      // Once without a death, to count.
      const whole = await bootstrapRig();
      let calls = 0;
      const counted = {
        ...whole.ports,
        ask: (...args: Parameters<typeof ports.ask>) => {
          calls++;
          return whole.ports.ask(...args);
        },
        agent: () => {
          calls++;
          whole.world.instead = whole.host.running.length === 0 ? "absent" : null;
          return whole.ports.agent();
        },
        record: (...args: Parameters<typeof ports.record>) => {
          calls++;
          return whole.ports.record(...args);
        },
      };
      assert.equal((await applyPlan(counted, ask)).kind, "receipt");
      steps = calls * 2;
    }
    await assert.rejects(applyPlan(mortal, ask), /died/, `death ${death} of ${steps}`);
    const seen = await agent();
    applied = seen.kind === "answers"
      ? await settleAnswering(ports, ask, seen.health)
      : await applyPlan({ ...ports, agent }, ask);
    assert.ok(applied.kind === "receipt", `death ${death}: ${JSON.stringify(applied)}`);
    assert.equal(applied.receipt.phases.at(-1)?.phase, "accepted");
    assert.deepEqual(host.running, [host.digest(ONE)], `death ${death}`);
  }
  assert.equal(steps, 22); // seven receipts, two requests, two looks at the agent
});

Deno.test("bootstrap: an interrupted operation whose agent is another one is not accepted", async () => {
  const { ports, planFor } = await bootstrapRig();
  const plan = await planFor(ONE);
  const ask = { plan, planDigest: "d".repeat(64), operationId: ID(1), by: "t", kept: null };
  const settled = await settleAnswering(ports, ask, { node: "n1", version: "1", protocol: 1 });
  assert.equal(settled.kind === "refused" && settled.code, "agent_available");
});
