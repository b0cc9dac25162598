/**
 * The rig over containers: programs inside by `nsenter`, which takes milliseconds where an exec of the
 * engine takes a second, everything else by the engine itself.
 *
 * @module
 */

import { type Daemon, docker } from "./daemon.ts";
import { addressOf, PORTS, SPECS, unitOf } from "./description.ts";
import { exists, must, run } from "./program.ts";
import type { Bundles } from "./builds.ts";
import type {
  Account,
  EngineSetting,
  ExecOptions,
  FleetHost,
  FleetRig,
  FleetUnit,
  HostId,
  Said,
} from "./rig.ts";
import { HOST_IDS } from "./rig.ts";

/** What `fleet.json` holds. */
export interface FleetState {
  readonly schema: 1;
  readonly folder: string;
  readonly daemon: Daemon;
  /** `10.213.7`. */
  readonly subnet: string;
  readonly network: string;
  readonly bundles: Bundles;
  /** When it was up and answered; null while it is being made. */
  readonly upSince: string | null;
}

const PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";
/** The account's number inside, the same on every host: it is the first one that is made. */
export const ACCOUNT_UID = 990;
const BOOT_MS = 180_000;

/** The rig of a fleet that was made, or is being made. */
export function containers(state: FleetState): FleetRig {
  const { folder, daemon, subnet, network, bundles } = state;
  const client = docker(daemon);
  const hosts = Object.fromEntries(
    HOST_IDS.map((id) => [id, hostOf(folder, subnet, id)]),
  ) as Record<HostId, FleetHost>;
  const pids = new Map<HostId, number>();

  async function pid(host: HostId): Promise<number> {
    const known = pids.get(host);
    if (known !== undefined && await exists(`/proc/${known}`)) return known;
    const format = "{{.State.Pid}}";
    const said = await must([...client, "inspect", "-f", format, hosts[host].container]);
    const found = Number(said);
    if (!(found > 1)) throw new Error(`${host} does not run`);
    pids.set(host, found);
    return found;
  }

  async function exec(
    host: HostId,
    argv: readonly string[],
    options: ExecOptions = {},
  ): Promise<Said> {
    const { as = "root", cwd = "/", env = {} } = options;
    const words = [
      ...["nsenter", "-t", `${await pid(host)}`, "-m", "-u", "-i", "-n", "-p", "-r", "-w", "--"],
      ...(as === "root" ? [] : ["setpriv", "--reuid=anvil", "--regid=anvil", "--init-groups"]),
      ...["env", "-i", ...environmentOf(as, env)],
      ...["sh", "-c", 'cd "$0" && exec "$@"', cwd, ...argv],
    ];
    const { stdin, deadlineMs } = options;
    return await run(words, {
      ...(stdin === undefined ? {} : { stdin }),
      ...(deadlineMs === undefined ? {} : { deadlineMs }),
    });
  }

  async function text(host: HostId, argv: readonly string[], options?: ExecOptions) {
    const said = await exec(host, argv, options);
    if (said.code === 0) return said.out.trim();
    const last = `${said.err}\n${said.out}`.trim().split("\n").slice(-6).join(" | ");
    throw new Error(`${host}: ${argv.join(" ").slice(0, 300)}: exit ${said.code}: ${last}`);
  }

  const accountOf = (host: HostId, unit: string): Account =>
    hosts[host].units.find(({ name }) => name === unit)?.account ??
      (host === "gateway" ? "root" : "anvil");
  const control = (host: HostId, unit: string, ...words: string[]) => {
    const as = accountOf(host, unit);
    return exec(host, ["systemctl", ...(as === "root" ? [] : ["--user"]), ...words], { as });
  };

  return {
    folder,
    hosts,
    bundles,
    exec,
    text,
    pid,
    operator: (argv, options) =>
      exec("gateway", ["anvil-operator", ...argv], { cwd: "/root/fleet", ...options }),
    systemctl: (host, verb, unit) => control(host, unit, verb, "--", unit),
    kill: (host, unit, signal) =>
      control(host, unit, "kill", `--signal=${signal}`, "--kill-whom=all", "--", unit),
    look: async (host, url, token) => {
      const words = ["-sS", "--max-time", "10", "-w", "\n%{http_code}", "-K", "-", url];
      // Not an argument: everybody sees those.
      const header = token === undefined
        ? ""
        : `header = "authorization: Bearer ${(await Deno.readTextFile(token)).trim()}"\n`;
      const into = ["nsenter", "-t", `${await pid(host)}`, "-n", "--", "curl", ...words];
      const said = await run(into, { stdin: header });
      const [, body = "", status = "0"] = /^([\s\S]*)\n(\d+)$/.exec(said.out) ?? [];
      return { status: Number(status), body };
    },
    logs: async (host, unit, lines = 20) => {
      const as = accountOf(host, unit);
      const match = as === "root" ? `_SYSTEMD_UNIT=${unit}` : `_SYSTEMD_USER_UNIT=${unit}`;
      return await text(host, ["journalctl", "--no-pager", "-o", "cat", "-n", `${lines}`, match]);
    },
    engine: async (host, serve, setting: EngineSetting) => {
      const engine = hosts[host].engines.find((one) => one.serve === serve);
      if (engine === undefined) throw new Error(`${host} has no engine ${serve}`);
      const words = engine.log.replace(/jsonl$/, "json");
      await Deno.writeTextFile(`${words}.new`, JSON.stringify(setting));
      await Deno.rename(`${words}.new`, words);
      await new Promise((resolve) => setTimeout(resolve, 300)); // it looks ten times a second
    },
    pause: async (host) => void await must([...client, "pause", hosts[host].container]),
    unpause: async (host) => void await must([...client, "unpause", hosts[host].container]),
    disconnect: async (host) =>
      void await must([...client, "network", "disconnect", network, hosts[host].container]),
    connect: async (host) => {
      const { address, container } = hosts[host];
      await must([...client, "network", "connect", "--ip", address, network, container]);
    },
    delay: async (host, ms) => {
      const into = ["nsenter", "-t", `${await pid(host)}`, "-n", "tc", "qdisc"];
      await run([...into, "del", "dev", "eth0", "root"]);
      if (ms === 0) return null;
      const said = await run([...into, "add", "dev", "eth0", "root", "netem", "delay", `${ms}ms`]);
      return said.code === 0 ? null : said.err.trim();
    },
    powerOff: async (host) => {
      await must([...client, "kill", hosts[host].container]);
      pids.delete(host);
    },
    start: async (host) => {
      await must([...client, "start", hosts[host].container]);
      pids.delete(host);
      await booted(host);
    },
  };

  async function booted(host: HostId): Promise<void> {
    const until = performance.now() + BOOT_MS;
    for (;;) {
      const said = await exec(host, ["systemctl", "is-system-running"]).catch(() => null);
      if (said !== null && /^(running|degraded)$/.test(said.out.trim())) return;
      if (performance.now() > until) {
        throw new Error(`${host} did not boot: ${said?.out.trim() ?? "it does not run"}`);
      }
      await new Promise((resolve) => setTimeout(resolve, 200));
    }
  }
}

function environmentOf(as: Account, env: Readonly<Record<string, string>>): readonly string[] {
  const base: Readonly<Record<string, string>> = as === "root"
    ? { PATH, HOME: "/root", USER: "root", LC_ALL: "C.UTF-8" }
    : {
      PATH,
      HOME: "/home/anvil",
      USER: "anvil",
      LC_ALL: "C.UTF-8",
      XDG_RUNTIME_DIR: `/run/user/${ACCOUNT_UID}`,
      DBUS_SESSION_BUS_ADDRESS: `unix:path=/run/user/${ACCOUNT_UID}/bus`,
    };
  return Object.entries({ ...base, ...env }).map(([name, value]) => `${name}=${value}`);
}

function hostOf(folder: string, subnet: string, id: HostId): FleetHost {
  const spec = SPECS[id];
  const address = addressOf(subnet, id);
  const mine = (name: string): FleetUnit => ({ name, account: "anvil" });
  const serving = spec.engines.length > 0;
  return {
    id,
    address,
    container: `fleet-${id}`,
    agent: `http://${address}:${PORTS.agent}`,
    router: serving
      ? { data: `http://${address}:${PORTS.data}`, admin: `http://127.0.0.1:${PORTS.admin}` }
      : null,
    units: id === "gateway"
      ? [
        { name: "anvil-agent.service", account: "root" },
        { name: "anvil-publisher.service", account: "root" },
      ]
      : [
        mine("anvil-agent.service"),
        mine("anvil-router.service"),
        ...spec.engines.map((engine) => mine(unitOf(engine))),
      ],
    engines: spec.engines.map((engine) => ({
      serve: engine.serve,
      unit: unitOf(engine),
      port: engine.port,
      model: engine.model,
      alias: engine.alias,
      log: `${folder}/said/${id}/${engine.port}.jsonl`,
    })),
    tokens: {
      operator: `${folder}/tokens/${id}`,
      client: serving ? `${folder}/tokens/client-${id}` : null,
    },
    disk: `${folder}/disks/${id}`,
  };
}
