import assert from "node:assert/strict";
import type { BootstrapCode } from "../../../lib/bootstrap/codes.ts";
import { type Plan, planSha256 } from "../../../lib/bootstrap/plan.ts";
import type { BootstrapReceipt } from "../../../lib/bootstrap/receipt.ts";
import { refuse } from "../../../lib/core/refusal.ts";
import { archiveLength } from "../../../lib/generation/write_archive.ts";
import { sha256 } from "../../../lib/host/digest.ts";
import { archiveOf, type Bundle, chunksOf } from "../../../lib/testing/bundle_rig.ts";
import { Host, ID, newDisk, ONE, TWO } from "../../../tests/support/receiver_rig.ts";
import {
  type AgentSeen,
  type Applied,
  applyPlan,
  type BootstrapPorts,
  refuseAgent,
  settleAnswering,
} from "./apply.ts";

const CATALOGUE = "c".repeat(64);
const BUILDS = new Map([[ONE, "1".repeat(64)], [TWO, "2".repeat(64)]]);

/** A host with a real receiver in memory, and an agent that is whatever runs there. */
async function rig() {
  const host = await Host.on(newDisk());
  const receipts: BootstrapReceipt[] = [];
  const lose = new Set<string>();
  const world = {
    /** What the agent says instead of the truth. */
    health: {} as Readonly<Record<string, string | number>>,
    /** What is there instead of an agent. */
    instead: "absent" as Exclude<AgentSeen["kind"], "answers"> | null,
    /** Of these nothing is ever heard. */
    silent: [] as readonly Bundle[],
    patience: 3,
    full: false,
  };
  const ports: BootstrapPorts = {
    ask: async (request, bundle) => {
      if (lose.delete(`before ${request.verb}`)) return refuse("outcome_unknown", "lost");
      const answer = await host.send(request, chunksOf(bundle ?? new Uint8Array(0)));
      return lose.delete(`after ${request.verb}`) ? refuse("outcome_unknown", "lost") : answer;
    },
    agent: () => {
      const running = host.running.at(-1);
      const bundle = [ONE, TWO].find((one) => host.digest(one) === running);
      if (world.instead !== null || bundle === undefined || world.silent.includes(bundle)) {
        return Promise.resolve({ kind: world.instead ?? "absent" });
      }
      const health = {
        node: "n1",
        version: bundle.manifest.version,
        build_digest: BUILDS.get(bundle) ?? "",
        protocol: 1,
        catalogue_digest: CATALOGUE,
        ...world.health,
      };
      return Promise.resolve({ kind: "answers", health });
    },
    record: (receipt) => {
      if (world.full && receipts.length > 0) {
        return Promise.resolve(refuse("file_no_space", "full"));
      }
      receipts.push(receipt);
      return Promise.resolve(null);
    },
    now: () => "2026-01-01T00:00:00.000Z",
    waitForAgent: () => Promise.resolve(world.patience-- > 0),
  };
  const planFor = async (bundle: Bundle): Promise<Plan> => {
    const identity = await host.ask({ verb: "identity", expected_node: "n1" });
    assert.ok(identity.ok && identity.identity !== undefined);
    const { config_digest, roots_digest, platform, supervisor } = identity.identity;
    return {
      schema: 1,
      target: "host:n1",
      topology_fingerprint: "f".repeat(64),
      expected_node: "n1",
      bundle: {
        manifest_digest: host.digest(bundle),
        length: archiveLength(bundle.manifest),
        build_digest: BUILDS.get(bundle) ?? "",
        version: bundle.manifest.version,
      },
      receiver: { build_digest: "e".repeat(64), config_digest, roots_digest },
      platform,
      supervisor,
      flags: { bootstrap_authorized: true, recover_via_ssh: true },
      expected: { protocol: 1, catalogue_digest: CATALOGUE },
    };
  };
  const apply = async (bundle: Bundle, number: number) => {
    // The agent is down when it begins, and comes up with what is activated.
    world.instead = "absent";
    const looked = {
      ...ports,
      agent: () => {
        const seen = ports.agent();
        world.instead = null;
        return seen;
      },
    };
    const plan = await planFor(bundle);
    const applied = await applyPlan(looked, {
      plan,
      planDigest: planSha256(sha256, plan),
      operationId: ID(number),
      bundle: await archiveOf(bundle) as Uint8Array<ArrayBuffer>,
      by: "t",
    });
    assert.ok(applied.kind === "receipt", JSON.stringify(applied));
    const { phases, error } = applied.receipt;
    return { phases: phases.map(({ phase }) => phase), end: phases.at(-1)?.phase, error };
  };
  return { host, ports, receipts, lose, world, apply, planFor };
}

const GOOD = ["planned", "staged", "verified", "installed", "activated", "restarted", "accepted"];

Deno.test("bootstrap: a bare host gets its first agent, and the next one", async () => {
  const { apply, host, receipts } = await rig();
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
    const { apply, host, world } = await rig();
    await apply(ONE, 1);
    world.health = health;
    const bad = await apply(TWO, 2);
    assert.equal(host.running.at(-1), host.digest(ONE));
    // What answers afterwards is judged, too: an attempted restore is not a success.
    const end = "node" in health ? "manual_recovery" : "rolled_back";
    assert.deepEqual([bad.end, bad.error], [end, "acceptance_failed"], JSON.stringify(health));
    assert.ok(bad.phases.includes("rollback_started"));
  }
});

Deno.test("bootstrap: an agent that never comes up, without and with one before", async () => {
  const first = await rig();
  first.host.supervisor = "fails";
  const bare = await first.apply(ONE, 1);
  assert.deepEqual([bare.end, bare.error], ["manual_recovery", "no_prior_generation"]);
  const { apply, host } = await rig();
  await apply(ONE, 1);
  host.supervisor = "fails";
  const bad = await apply(TWO, 2);
  // The supervisor fails on the way back as well.
  assert.deepEqual([bad.end, bad.error], ["manual_recovery", "restart_failed"]);
  for (const restored of [true, false]) {
    const silent = await rig();
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
      const { apply, host, lose } = await rig();
      lose.add(`${when} ${verb}`);
      assert.deepEqual((await apply(ONE, 1)).phases, GOOD, `${when} ${verb}`);
      assert.equal(host.running.length, 1);
    }
  }
  const { apply, host, lose, world } = await rig();
  await apply(ONE, 1);
  world.health = { version: "9" };
  lose.add("after rollback");
  assert.equal((await apply(TWO, 2)).end, "rolled_back");
  assert.equal(host.running.length, 3);
});

Deno.test("bootstrap: a receiver that does not answer again is no success and no guess", async () => {
  const { apply, lose } = await rig();
  lose.add("before stage");
  lose.add("before status");
  assert.deepEqual(await apply(ONE, 1).then(({ end, error }) => [end, error]), [
    "refused",
    "outcome_unknown",
  ]);
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
    const { ports, receipts, host } = await rig();
    const applied = await applyPlan({ ...ports, agent: () => Promise.resolve(seen) }, {
      plan: {} as Plan, // not looked at
      planDigest: "d".repeat(64),
      operationId: ID(1),
      bundle: new Uint8Array(0),
      by: "t",
    });
    assert.equal(applied.kind === "refused" && applied.code, code);
    assert.deepEqual([receipts.length, host.generations().length], [0, 0]);
  }
});

Deno.test("bootstrap: without a receipt nothing begins; a disk that fills up later is told", async () => {
  const { apply, ports, host, world } = await rig();
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
    const { ports, host, world, planFor } = await rig();
    const plan = await planFor(ONE);
    const ask = {
      plan,
      planDigest: planSha256(sha256, plan),
      operationId: ID(1),
      bundle: await archiveOf(ONE) as Uint8Array<ArrayBuffer>,
      by: "t",
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
      const whole = await rig();
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
  const { ports, planFor } = await rig();
  const plan = await planFor(ONE);
  const ask = { plan, planDigest: "d".repeat(64), operationId: ID(1), by: "t" };
  const settled = await settleAnswering(ports, ask, { node: "n1", version: "1", protocol: 1 });
  assert.equal(settled.kind === "refused" && settled.code, "agent_available");
});
