/**
 * The operator's own repository of the fleet: everything that a host is held against is in it, below
 * hosts/ID, before an owner puts it where it belongs. From nothing to three nodes says so too.
 *
 * @module
 */

import { ask } from "./ask.ts";
import {
  adopterToml,
  agentToml,
  publisherToml,
  receiverToml,
  roleUnit,
  routerToml,
  servesToml,
  SPECS,
  topologyToml,
  unitOf,
} from "./description.ts";
import { write } from "./owner.ts";
import { type FleetRig, HOST_IDS, type HostId } from "./rig.ts";

/** Hosts that get their agent by bootstrap. */
export const BOOTSTRAPPED = HOST_IDS.filter((id) => id !== "gateway");

/** In the gateway. */
export const REPOSITORY = "/root/fleet";

/** Texts of one host by their names below hosts/ID. */
export type Reviewed = Readonly<Record<string, string>>;

/** The fleet, and what its hosts serve: enough to say who is who. */
export async function describe(
  fleet: FleetRig,
  subnet: string,
  keys: ReadonlyMap<HostId, string>,
): Promise<void> {
  await write(fleet, "gateway", `${REPOSITORY}/topology.toml`, topologyToml(subnet, keys));
  for (const id of BOOTSTRAPPED) {
    await keepFile(fleet, id, "serves.toml", servesToml(SPECS[id]));
    await keepFile(fleet, id, "router.toml", routerToml(subnet, SPECS[id]));
  }
  const git = "git init -q -b main && git config user.name operator && " +
    "git config user.email operator@example.test";
  await fleet.text("gateway", ["sh", "-euc", git], { cwd: REPOSITORY });
  await ask(fleet, ["topology", "validate", "topology.toml"]);
  await makeLive(fleet, "five hosts");
}

/** What owners install beside it: it names the topology's fingerprint, and keys that are public. */
export async function reviewRest(
  fleet: FleetRig,
  subnet: string,
): Promise<ReadonlyMap<HostId, Reviewed>> {
  const fingerprint = (await ask(fleet, ["topology", "fingerprint"])).trim();
  const key = await fleet.text("gateway", ["cat", "/root/.ssh/anvil-receiver.pub"]);
  const trust = await fleet.text("gateway", [
    ...["anvil-publisher", "keys", "list", "--trust", "--config", "/etc/anvil/publisher.toml"],
  ]);
  const unit = (name: string) => fleet.text("gateway", ["cat", `/etc/systemd/system/${name}`]);
  const reviewed = new Map<HostId, Reviewed>([["gateway", {
    "agent.toml": agentToml(subnet, SPECS.gateway, fingerprint),
    "publisher.toml": publisherToml(subnet),
    "units/anvil-agent.service": `${await unit("anvil-agent.service")}\n`,
    "units/anvil-publisher.service": `${await unit("anvil-publisher.service")}\n`,
  }]]);
  for (const id of BOOTSTRAPPED) {
    const engines: Record<string, string> = {};
    for (const engine of SPECS[id].engines) {
      const words = ["unit", `hosts/${id}/serves.toml`, engine.serve];
      const text = await fleet.text("gateway", ["anvil-agent", ...words], { cwd: REPOSITORY });
      engines[`units/${unitOf(engine)}`] = `${text}\n`;
    }
    reviewed.set(id, {
      "agent.toml": agentToml(subnet, SPECS[id], fingerprint),
      "adopter.toml": adopterToml(subnet, SPECS[id]),
      "receiver.toml": receiverToml(id),
      "trust.json": `${trust}\n`,
      "authorized_keys": authorizedKeys(key),
      "units/anvil-agent.service": roleUnit("agent"),
      "units/anvil-router.service": roleUnit("router"),
      ...engines,
    });
  }
  for (const [id, texts] of reviewed) {
    for (const [name, text] of Object.entries(texts)) await keepFile(fleet, id, name, text);
  }
  await makeLive(fleet, "what their owners install");
  return reviewed;
}

/** The one line that lets the operator's key talk to the receiver, and to nothing else. */
function authorizedKeys(key: string): string {
  const receiver = "/opt/anvil-receiver/bin/anvil-receiver serve /etc/anvil/receiver.toml " +
    "--log /var/lib/anvil/receiver/log.jsonl";
  return `command="${receiver}",restrict ${key}\n`;
}

/** Puts a file of a host into the working tree. */
export async function keepFile(
  fleet: FleetRig,
  host: HostId,
  name: string,
  text: string,
): Promise<void> {
  await write(fleet, "gateway", `${REPOSITORY}/hosts/${host}/${name}`, text);
}

/** Commits what is there, when it is anything new, and makes the commit live. */
export async function makeLive(fleet: FleetRig, message: string): Promise<void> {
  const commit = 'git add -A && { git diff --cached --quiet || git commit -qm "$1"; }';
  await fleet.text("gateway", ["sh", "-euc", commit, "sh", message], { cwd: REPOSITORY });
  await ask(fleet, ["home", "materialize", "--repo", ".", "--rev", "main"]);
}
