/**
 * What the owner of a machine does by hand, once, before anything of ours reaches it from afar:
 * docs/guides/bootstrap-a-host.md and publishing.md, in the same order and with the same commands.
 *
 * @module
 */

import { ACCOUNT_UID } from "./containers.ts";
import { publisherToml, ROUTER_TOML, routerToml, servesToml, SPECS } from "./description.ts";
import type { Reviewed } from "./reviewed.ts";
import { type Account, type FleetRig, HOST_IDS, type HostId } from "./rig.ts";

/** Where each role's program of the current generation is called from. */
const CALLERS = ["agent", "router", "adopter"] as const;

/** Four agents start at once, on a machine that may do other things. */
const SEED_MS = 180_000;

/** Writes a file inside, its folder with it. */
export async function write(
  fleet: FleetRig,
  host: HostId,
  path: string,
  text: string,
  as: Account = "root",
  mode = "0644",
): Promise<void> {
  const script = 'mkdir -p "$(dirname "$1")" && umask 077 && cat >"$1" && chmod "$2" "$1"';
  await fleet.text(host, ["sh", "-euc", script, "sh", path, mode], { as, stdin: text });
}

/** Gives a host keys of its own; the image has one pair for all. Its public key. */
export async function hostKey(fleet: FleetRig, host: HostId): Promise<string> {
  const script = "rm -f /etc/ssh/ssh_host_*; ssh-keygen -q -A; systemctl restart ssh";
  await fleet.text(host, ["sh", "-euc", script]);
  const line = await fleet.text(host, ["cat", "/etc/ssh/ssh_host_ed25519_key.pub"]);
  return line.split(" ").slice(0, 2).join(" ");
}

/** The gateway: programs, the key that opens receivers, a publisher and an agent by our units. */
export async function prepareGateway(fleet: FleetRig, subnet: string): Promise<void> {
  const put = (path: string, text: string, mode?: string) =>
    write(fleet, "gateway", path, text, "root", mode);
  const bundle = insideDist(fleet, fleet.bundles.first.folder);
  await fleet.text("gateway", [
    ...["sh", "-euc", 'for program in "$1"/bin/*; do ln -sf "$program" /usr/bin/; done', "sh"],
    bundle,
  ]);
  await fleet.text("gateway", [
    ...["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "operator"],
    ...["-f", "/root/.ssh/anvil-receiver"],
  ]);
  const hosts = JSON.stringify(HOST_IDS.filter((id) => id !== "gateway"));
  const grants = `schema = 1\n\n[[grants]]\nscope = "node-admin:bootstrap"\nhosts = ${hosts}\n`;
  await put("/root/.anvil/grants.toml", grants, "0600");
  await put("/etc/anvil/publisher.toml", publisherToml(subnet));
  await fleet.text(
    "gateway",
    ["sh", "-euc", "mkdir -p /var/lib/anvil/publisher && anvil-publisher keys init --config $0"]
      .concat("/etc/anvil/publisher.toml"),
    { cwd: "/root" },
  );
  await fleet.text("gateway", [
    ...["sh", "-euc"],
    "useradd --system --home-dir /var/lib/anvil/agent --shell /usr/sbin/nologin anvil-agent; " +
    'cp "$1"/units/anvil-agent.service "$1"/units/anvil-publisher.service ' +
    "/etc/systemd/system/; systemctl daemon-reload",
    ...["sh", bundle],
  ]);
}

/** A path on this machine below `dist`, as every account of the gateway sees it. */
export function insideDist(fleet: FleetRig, path: string): string {
  return path.replace(`${fleet.folder}/dist`, "/opt/dist");
}

/** The gateway's own agent, by our unit; gives the operator's token for it. */
export async function startGatewayAgent(
  fleet: FleetRig,
  reviewed: Reviewed,
): Promise<string> {
  await write(fleet, "gateway", "/etc/anvil/agent.toml", textIn(reviewed, "agent.toml"));
  const script = "install -d -o anvil-agent -g anvil-agent -m 0700 /var/lib/anvil/agent; " +
    "cd /var/lib/anvil/agent; " +
    "anvil-agent tokens add clients.toml operator --scope '*' --out token >/dev/null; " +
    "chown anvil-agent: clients.toml; systemctl enable -q --now anvil-agent anvil-publisher; " +
    "cat token; rm token";
  return await fleet.text("gateway", ["sh", "-euc", script]);
}

/** What is made for one host before its agent comes. */
export interface Prepared {
  /** The operator's token of its agent, and a client's of its router. */
  readonly operator: string;
  readonly client: string;
}

function textIn(reviewed: Reviewed, name: string): string {
  const text = reviewed[name];
  if (text === undefined) throw new Error(`nobody reviewed ${name}`);
  return text;
}

/** Prepares a bare host: `view` is its topology, `reviewed` the rest that the repository has of it. */
export async function prepareHost(
  fleet: FleetRig,
  subnet: string,
  host: HostId,
  given: { readonly view: string; readonly reviewed: Reviewed },
): Promise<Prepared> {
  const spec = SPECS[host];
  const put = (path: string, text: string, as: Account = "anvil", mode?: string) =>
    write(fleet, host, path, text, as, mode);
  // docs/guides/bootstrap-a-host.md, line by line; the bundle is in /opt/anvil-receiver.
  await fleet.text(host, [
    ...["sh", "-euc"],
    `useradd --system --uid ${ACCOUNT_UID} --create-home --shell /bin/sh anvil\n` +
    "usermod -aG systemd-journal anvil\n" +
    "loginctl enable-linger anvil\n" +
    "install -d -o anvil -g anvil /opt/anvil /etc/anvil\n" +
    "install -d -o anvil -g anvil -m 0700 /var/lib/anvil /var/lib/anvil/receiver " +
    "/var/lib/anvil/agent /var/lib/anvil/router /var/lib/anvil/router/state /var/lib/anvil/config\n" +
    "install -m 0755 /opt/anvil-receiver/launch/anvil /opt/anvil/anvil\n" +
    "chown anvil: /opt/engine/said\n",
  ]);
  for (const role of CALLERS) {
    const caller = `#!/bin/sh\nexec /opt/anvil/anvil ${role} "$@"\n`;
    await put(`/usr/local/bin/anvil-${role}`, caller, "root", "0755");
  }
  const install = (name: string, as: Account = "anvil", mode?: string) =>
    put(`/etc/anvil/${name}`, textIn(given.reviewed, name), as, mode);
  await install("authorized_keys", "root");
  await put(
    "/etc/ssh/sshd_config.d/anvil.conf",
    "Match User anvil\n  AuthorizedKeysFile /etc/anvil/authorized_keys\n",
    "root",
  );
  await fleet.text(host, ["systemctl", "reload", "ssh"]);
  await install("receiver.toml", "anvil", "0600");
  for (const name of ["agent.toml", "adopter.toml", "trust.json"]) await install(name);
  await put("/etc/anvil/serves.toml", servesToml(spec));
  await put("/etc/anvil/topology.toml", given.view);
  await put(ROUTER_TOML, routerToml(subnet, spec));
  for (const [name, text] of Object.entries(given.reviewed)) {
    if (!name.startsWith("units/")) continue;
    await put(`/home/anvil/.config/systemd/user/${name.slice("units/".length)}`, text);
  }
  const program = (role: string) => `/opt/anvil-receiver/bin/anvil-${role}`;
  const token = async (role: string, client: string, scopes: readonly string[]) => {
    const words = scopes.flatMap((scope) => ["--scope", scope]);
    await fleet.text(
      host,
      [
        program(role),
        "tokens",
        "add",
        "clients.toml",
        client,
        ...words,
        "--out",
        `${client}.token`,
      ],
      { as: "anvil", cwd: `/var/lib/anvil/${role}` },
    );
  };
  const carry = async (path: string) => {
    const carried = await fleet.text(host, ["cat", path]);
    await fleet.text(host, ["rm", path]);
    return carried;
  };
  await token("router", "agent", ["observe", "admin"]);
  await token("router", "observer", ["observe"]);
  await token("router", "client", ["infer", "observe"]);
  await token("agent", "operator", ["*"]);
  await fleet.text(host, ["systemctl", "--user", "daemon-reload"], { as: "anvil" });
  return {
    operator: await carry("/var/lib/anvil/agent/operator.token"),
    client: await carry("/var/lib/anvil/router/client.token"),
  };
}

/** The `catalogue_digest` that an agent of this build answers there, told by one that runs once. */
export async function catalogueOf(fleet: FleetRig, host: HostId, token: string): Promise<string> {
  const program = "/opt/anvil-receiver/bin/anvil-agent";
  await fleet.text(host, [
    ...[
      "systemd-run",
      "--user",
      "--quiet",
      "--collect",
      "--unit=seed",
      "--working-directory=/var/lib/anvil",
    ],
    ...[program, "run", "/etc/anvil/agent.toml"],
  ], { as: "anvil" });
  const headers = { authorization: `Bearer ${token}`, "x-anvil-node": host };
  try {
    const until = performance.now() + SEED_MS;
    while (performance.now() < until) {
      const answer = await fetch(`${fleet.hosts[host].agent}/health`, { headers }).catch(() =>
        null
      );
      if (answer?.status === 200) {
        const said = await answer.json() as { readonly catalogue_digest: string };
        return said.catalogue_digest;
      }
      await answer?.body?.cancel();
      await new Promise((resolve) => setTimeout(resolve, 200));
    }
    throw new Error(`${host}: no agent answers: ${await fleet.logs(host, "seed.service")}`);
  } finally {
    await fleet.exec(host, ["systemctl", "--user", "stop", "seed"], { as: "anvil" });
    await fleet.exec(host, [
      "sh",
      "-c",
      "rm -f /var/lib/anvil/agent/ledger* /var/lib/anvil/agent/audit*",
    ]);
  }
}
