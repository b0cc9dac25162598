/**
 * How a chosen host is reached: on the spot, or through its agent. SSH is never chosen: it has to be
 * asked for, after the agent was proven unreachable before anything was dispatched.
 *
 * @module
 */

import { type Refusal, refuse } from "../core/refusal.ts";
import type { FleetIndex } from "./fleet_index.ts";
import type { CommandIdentity } from "./resolve.ts";
import type { AgentTransport, SshTransport } from "./shape.ts";
import type { Runtime } from "./vocabulary.ts";

/** How a command gets to its host. */
export type Way =
  | { readonly kind: "local"; readonly because: string }
  | { readonly kind: "agent"; readonly transport: AgentTransport; readonly because: string };

/** What a command's own runtime operates on its own host. A docker identity operates no native one. */
const OPERATES: Readonly<Record<Runtime, readonly Runtime[]>> = {
  native: ["native", "docker"],
  docker: ["docker"],
};

/** The way to `host`. Throws for a host that is not in the fleet: resolve first. */
export function chooseWay(
  { hosts, agents }: FleetIndex,
  identity: CommandIdentity | null,
  host: string,
): Way | Refusal<"agent_missing"> {
  const target = hosts.get(host);
  if (target === undefined) throw new TypeError(`${host} was not resolved`);
  // A model-free host has no runtime class; what is done there is done natively.
  const runtime = target.runtime ?? "native";
  let because = "no command host is known";
  if (identity !== null) {
    if (identity.host !== host) because = `${host} is not the command host ${identity.host}`;
    else if (OPERATES[identity.runtime].includes(runtime)) {
      const how = `a ${identity.runtime} command operates ${runtime} execution`;
      return { kind: "local", because: `${host} is the command host, and ${how}` };
    } else because = `a ${identity.runtime} command does not operate ${runtime} execution`;
  }
  const transport = agents.get(host);
  return transport === undefined
    ? refuse("agent_missing", `no agent transport is declared for ${host}`)
    : { kind: "agent", transport, because };
}

/** How an attempt to reach an agent ended, and whether SSH may be asked for afterwards. */
export const SSH_AFTER = {
  connection_refused: true,
  no_route: true,
  connect_timeout: true,
  unauthorized: false,
  forbidden: false,
  wrong_node: false,
  wrong_build: false,
  target_ambiguous: false,
  /** Anything behind the connection: the operation may have reached the agent. */
  after_dispatch: false,
} as const;

/** One of {@link SSH_AFTER}. */
export type AgentFailure = keyof typeof SSH_AFTER;

/** What a person asks for. */
export interface RecoveryAsk {
  readonly host: string;
  /** The explicit recovery flag. */
  readonly recovery: boolean;
  /** How the attempt through the agent ended; null when there was none. */
  readonly failure: AgentFailure | null;
}

/** The SSH transport for recovery, or why it is not allowed. */
export function recoveryWay(
  { ssh }: FleetIndex,
  { host, recovery, failure }: RecoveryAsk,
):
  | { readonly kind: "ssh"; readonly transport: SshTransport }
  | Refusal<"ssh_not_asked_for" | "agent_not_tried" | "ssh_not_permitted" | "ssh_unavailable"> {
  if (!recovery) {
    return refuse(
      "ssh_not_asked_for",
      "SSH is for recovery, and recovery was not asked for",
      "add the recovery flag after the agent has failed",
    );
  }
  if (failure === null) {
    return refuse("agent_not_tried", "the agent was not tried, so nothing proves that it is down");
  }
  if (!SSH_AFTER[failure]) {
    return refuse(
      "ssh_not_permitted",
      `the agent's answer was ${failure}: that is no proof that it is down`,
      "mend that cause; SSH would only hide it",
    );
  }
  const transport = ssh.get(host);
  return transport?.recovery_capable === true
    ? { kind: "ssh", transport }
    : refuse("ssh_unavailable", `no ssh transport of ${host} is declared recovery_capable`);
}
