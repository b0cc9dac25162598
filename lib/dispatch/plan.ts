/**
 * What a command is going to ask, and of whom: made from the topology before anything is sent, and
 * bound to the topology's fingerprint.
 *
 * An operation always runs in the agent of its host, also when the command is given on that host:
 * only the agent has the ledger that runs a key once. So the way of a plan is always the agent's.
 *
 * @module
 */

import { type Origin, parseOrigin } from "../core/address.ts";
import { type Refusal, refuse } from "../core/refusal.ts";
import type { FleetIndex } from "../topology/fleet_index.ts";
import { type CommandIdentity, resolve, type Target } from "../topology/resolve.ts";

/** One host of a plan. */
export interface PlannedHost {
  readonly host: string;
  readonly endpoint: Origin;
  /** The node that must answer there. */
  readonly node: string;
  /** The token's name in the operator's store. */
  readonly token: string;
}

/** Whom a command asks. */
export interface Plan {
  readonly kind: "plan";
  /** Of the topology it was made from. */
  readonly fingerprint: string;
  /** One sentence: which rule chose the hosts. */
  readonly because: string;
  /** In ascending order of their ids; at least one. */
  readonly hosts: readonly PlannedHost[];
}

/** What a plan is made from. */
export interface PlanAsk {
  readonly target: Target;
  readonly identity: CommandIdentity | null;
  /** Of the topology as it is now. */
  readonly fingerprint: string;
  /** Of the topology that somebody saw when they decided; null when they do not say. */
  readonly expected: string | null;
}

/** Resolves the target and finds each host's agent. */
export function planDispatch(index: FleetIndex, ask: PlanAsk): Plan | Refusal {
  const { target, identity, fingerprint, expected } = ask;
  if (expected !== null && expected !== fingerprint) {
    return refuse(
      "topology_changed",
      `the topology is ${fingerprint.slice(0, 16)}, this was decided on ${expected.slice(0, 16)}`,
      "look at what changed, then decide again",
    );
  }
  const resolved = resolve(index, identity, target);
  if (resolved.kind === "refused") return resolved;
  const hosts: PlannedHost[] = [];
  for (const host of resolved.hosts) {
    const transport = index.agents.get(host);
    if (transport === undefined) {
      return refuse("agent_missing", `no agent transport is declared for ${host}`);
    }
    const endpoint = parseOrigin(transport.endpoint);
    if (endpoint.kind === "refused") return endpoint;
    const { expected_node: node, token } = transport;
    hosts.push({ host, endpoint: endpoint.origin, node, token });
  }
  return { kind: "plan", fingerprint, because: resolved.because, hosts };
}
