/**
 * Everything between booted hosts and a fleet that serves: their owners' preparation, then the
 * operator's work from the gateway: topology, home, bootstrap, serves, first adoption.
 *
 * @module
 */

import { ask } from "./ask.ts";
import { SPECS } from "./description.ts";
import {
  catalogueOf,
  hostKey,
  prepareGateway,
  prepareHost,
  startGatewayAgent,
  write,
} from "./owner.ts";
import { writePrivate } from "./program.ts";
import { BOOTSTRAPPED, describe, type Reviewed, reviewRest } from "./reviewed.ts";
import { type FleetRig, HOST_IDS, type HostId } from "./rig.ts";

/** Tells one line of progress. */
export type Tell = (line: string) => void;

/** Everything between booted hosts and a fleet that serves. */
export async function furnish(fleet: FleetRig, subnet: string, tell: Tell): Promise<void> {
  const keys = new Map<HostId, string>();
  await Promise.all(HOST_IDS.map(async (id) => keys.set(id, await hostKey(fleet, id))));
  await prepareGateway(fleet, subnet);
  await describe(fleet, subnet, keys);
  const reviewed = await reviewRest(fleet, subnet);
  const token = await startGatewayAgent(fleet, reviewed.get("gateway") ?? {});
  await keep(fleet, "gateway", token);
  tell("the gateway has a home, an agent and a publisher");
  await furnishHosts(fleet, subnet, reviewed, tell);
}

/** The hosts: their owners first, then the operator. */
export async function furnishHosts(
  fleet: FleetRig,
  subnet: string,
  reviewed: ReadonlyMap<HostId, Reviewed>,
  tell: Tell,
): Promise<void> {
  const catalogues = new Map<HostId, string>();
  await Promise.all(BOOTSTRAPPED.map(async (id) => {
    const view = await ask(fleet, ["topology", "view", "--host", id]);
    const made = await prepareHost(fleet, subnet, id, { view, reviewed: reviewed.get(id) ?? {} });
    await keep(fleet, id, made.operator);
    await writePrivate(fleet.hosts[id].tokens.client ?? "", `${made.client}\n`);
    catalogues.set(id, await catalogueOf(fleet, id, made.operator));
  }));
  tell("four hosts are prepared by their owners, as docs/guides/bootstrap-a-host.md says");

  for (const id of BOOTSTRAPPED) {
    await bootstrap(fleet, id, catalogues.get(id) ?? "");
    tell(`${id} got its agent by bootstrap`);
  }
  await Promise.all(BOOTSTRAPPED.map((id) => serve(fleet, id)));
  tell("routers and engines serve");
  for (const id of BOOTSTRAPPED) await publish(fleet, id, "first");
  await Promise.all(BOOTSTRAPPED.map((id) => prove(fleet, id)));
  tell("each host has been offered what it runs, and has proven it");
}

/** The operator's token of a host, in the gateway's home and in the rig's folder. */
export async function keep(fleet: FleetRig, host: HostId, token: string): Promise<void> {
  await write(fleet, "gateway", `/root/.anvil/tokens/${host}`, `${token}\n`, "root", "0600");
  await fleet.text("gateway", ["chmod", "0700", "/root/.anvil/tokens"]);
  await writePrivate(fleet.hosts[host].tokens.operator, `${token}\n`);
}

/** The words of `bootstrap plan` and `apply` for a host. */
export function bootstrapWords(fleet: FleetRig, host: HostId, catalogue: string): string[] {
  const { archive, build } = fleet.bundles.first;
  return [
    ...["--target", `host:${host}`, "--key", "/root/.ssh/anvil-receiver", "--recover-via-ssh"],
    ...["--bundle", archive.replace(`${fleet.folder}/dist`, "/root/dist")],
    ...["--receiver-build", build, "--expect-catalogue", catalogue],
  ];
}

export async function bootstrap(fleet: FleetRig, host: HostId, catalogue: string): Promise<void> {
  const words = bootstrapWords(fleet, host, catalogue);
  const plan = await ask(fleet, ["bootstrap", "plan", ...words], "/root");
  await write(fleet, "gateway", `/root/plans/${host}.json`, plan, "root", "0600");
  await ask(fleet, [
    "bootstrap",
    "apply",
    ...words,
    "--plan",
    `/root/plans/${host}.json`,
    "--confirm",
  ]);
}

/** Router and engines of a host: its units by its owner, its serves by the operator. */
export async function serve(fleet: FleetRig, host: HostId): Promise<void> {
  for (const unit of ["anvil-agent", "anvil-router"]) {
    await fleet.text(host, ["systemctl", "--user", "enable", "-q", unit], { as: "anvil" });
  }
  await fleet.text(host, ["systemctl", "--user", "start", "anvil-router"], { as: "anvil" });
  for (const { serve, residency } of SPECS[host].engines) {
    if (residency === "on-demand") continue;
    await ask(fleet, ["serves", "up", serve, "--target", `host:${host}`]);
  }
}

/** What runs is offered to the host, and proven where it runs: nothing is restarted. */
export async function prove(fleet: FleetRig, host: HostId): Promise<void> {
  const at = ["--target", `host:${host}`];
  await ask(fleet, ["op", "call", "candidates.stage", ...at]);
  await ask(fleet, ["op", "call", "candidates.adopt", ...at, "--confirm"]);
}

/** Offers a bundle to a host. */
export async function publish(
  fleet: FleetRig,
  host: HostId,
  name: keyof FleetRig["bundles"],
): Promise<string> {
  const { folder, rev, committedAt } = fleet.bundles[name];
  return await fleet.text("gateway", [
    ...["anvil-publisher", "publish", host, "--config", "/etc/anvil/publisher.toml"],
    ...["--tree", folder.replace(`${fleet.folder}/dist`, "/root/dist"), "--rev", rev],
    ...(name === "bad" ? [] : ["--committed-at", committedAt]),
  ], { cwd: "/root" });
}
