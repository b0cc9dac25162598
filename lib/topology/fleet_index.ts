/**
 * A fleet with its look-ups made once, so that a command over every host stays linear.
 *
 * @module
 */

import type { AgentTransport, Fleet, Host, SshTransport } from "./shape.ts";
import type { ResourceRole } from "./vocabulary.ts";

/** Hosts by id, owners by role, transports by host. */
export interface FleetIndex {
  readonly fleet: Fleet;
  readonly hosts: ReadonlyMap<string, Host>;
  /** Ids in ascending order. */
  readonly owners: ReadonlyMap<ResourceRole, readonly string[]>;
  readonly agents: ReadonlyMap<string, AgentTransport>;
  readonly ssh: ReadonlyMap<string, SshTransport>;
}

/** Makes the look-ups of `fleet`. */
export function indexFleet(fleet: Fleet): FleetIndex {
  const hosts = new Map(Object.entries(fleet.hosts));
  const owners = new Map<ResourceRole, string[]>();
  for (const id of [...hosts.keys()].sort()) {
    for (const role of hosts.get(id)?.roles ?? []) {
      const ids = owners.get(role);
      if (ids === undefined) owners.set(role, [id]);
      else ids.push(id);
    }
  }
  const agents = new Map<string, AgentTransport>();
  const ssh = new Map<string, SshTransport>();
  for (const transport of fleet.transports ?? []) {
    if (transport.kind === "agent") agents.set(transport.host, transport);
    else ssh.set(transport.host, transport);
  }
  return { fleet, hosts, owners, agents, ssh };
}
