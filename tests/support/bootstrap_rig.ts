/**
 * A host with a real receiver in memory, an agent that is whatever runs there, and an operator's ports
 * to both.
 *
 * @module
 */

import assert from "node:assert/strict";
import { type Plan, planSha256 } from "../../lib/bootstrap/plan.ts";
import { type BootstrapReceipt, exitCodeOf } from "../../lib/bootstrap/receipt.ts";
import { refuse } from "../../lib/core/refusal.ts";
import { archiveLength } from "../../lib/generation/write_archive.ts";
import { sha256 } from "../../lib/host/digest.ts";
import { archiveOf, type Bundle, chunksOf } from "../../lib/testing/bundle_rig.ts";
import type { FakeDisk } from "../../lib/testing/fake_disk.ts";
import {
  type Applied,
  type ApplyAsk,
  applyPlan,
  type BootstrapPorts,
  settleAnswering,
} from "../../roles/operator/bootstrap/apply.ts";
import type { AgentSeen } from "../../roles/operator/bootstrap/judge_agent.ts";
import { Host, ID, newDisk, ONE, TWO } from "./receiver_rig.ts";

const CATALOGUE = "c".repeat(64);

/** What an attempt came to: its receipt, in short. */
export function told(applied: Applied) {
  assert.ok(applied.kind === "receipt", JSON.stringify(applied));
  const { receipt } = applied;
  const phases = receipt.phases.map(({ phase }) => phase);
  return { phases, end: phases.at(-1), error: receipt.error, code: exitCodeOf(receipt) };
}

/** Makes one. */
export async function bootstrapRig(disk: FakeDisk = newDisk()) {
  const host = await Host.on(disk);
  const receipts: BootstrapReceipt[] = [];
  const lose = new Set<string>();
  const world = {
    /** What these agents say instead of the truth. */
    health: {} as Readonly<Record<string, string | number>>,
    lying: [TWO] as readonly Bundle[],
    /** What is there instead of an agent. */
    instead: "absent" as Exclude<AgentSeen["kind"], "answers"> | null,
    /** Of these nothing is ever heard. */
    silent: [] as readonly Bundle[],
    patience: 3,
    /** Happens on the host between staging and activating. */
    beforeActivate: () => {},
    full: false,
  };
  const ports: BootstrapPorts = {
    ask: async (request, bundle) => {
      if (lose.delete(`before ${request.verb}`)) return refuse("may_have_executed", "lost");
      if (request.verb === "status") {
        const busy = [...lose].find((one) => one.startsWith("busy "));
        if (busy !== undefined && lose.delete(busy)) return refuse("receiver_busy", "busy");
        const away = [...lose].find((one) => one.startsWith("status "));
        if (away !== undefined && lose.delete(away)) return refuse("transport_failed", "away");
      }
      if (request.verb === "activate") world.beforeActivate();
      const answer = await host.send(request, chunksOf(bundle ?? new Uint8Array(0)));
      return lose.delete(`after ${request.verb}`) ? refuse("may_have_executed", "lost") : answer;
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
        build_digest: bundle.manifest.build?.digest ?? "",
        protocol: 1,
        catalogue_digest: CATALOGUE,
        ...(world.lying.includes(bundle) ? world.health : {}),
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
    wait: (looks) => Promise.resolve(looks <= world.patience),
  };
  const planFor = async (bundle: Bundle): Promise<Plan> => {
    const identity = await host.ask({ verb: "identity", expected_node: "n1" });
    assert.ok(identity.ok && identity.identity !== undefined);
    const { config_digest, roots_digest, platform, supervisor } = identity.identity;
    const { current } = identity.identity.generations;
    return {
      schema: 1,
      target: "host:n1",
      topology_fingerprint: "f".repeat(64),
      expected_node: "n1",
      bundle: {
        manifest_digest: host.digest(bundle),
        length: archiveLength(bundle.manifest),
        build_digest: bundle.manifest.build?.digest ?? "",
        version: bundle.manifest.version,
      },
      receiver: { build_digest: "e".repeat(64), config_digest, roots_digest },
      prior: current === undefined ? null : { manifest_digest: identity.current, ...current },
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
    begun = {
      plan,
      planDigest: planSha256(sha256, plan),
      operationId: ID(number),
      bundle: await archiveOf(bundle) as Uint8Array<ArrayBuffer>,
      by: "t",
      kept: null,
    };
    return told(await applyPlan(looked, begun));
  };
  let begun: ApplyAsk | null = null;
  /** Gives the last apply again, as with `--operation`: the agent is what it is now. */
  const again = async () => {
    assert.ok(begun !== null);
    const kept = receipts.findLast(({ operation_id }) => operation_id === begun?.operationId);
    const ask = { ...begun, kept: kept ?? null };
    const seen = await ports.agent();
    return told(
      seen.kind === "answers"
        ? await settleAnswering(ports, ask, seen.health)
        : await applyPlan(ports, ask),
    );
  };
  return { host, ports, receipts, lose, world, apply, again, planFor };
}
