/**
 * The fleet's own Docker engine: its own data, socket and network, no firewall rules, running on after
 * whoever started it, until `make fleet-down` ends it by its process id.
 *
 * @module
 */

import { commandPath } from "../../scripts/needs.ts";
import { exists, must, run } from "./program.ts";

const START_MS = 120_000;
const STOP_MS = 30_000;

/** One engine, as `fleet.json` remembers it. */
export interface Daemon {
  /** Socket, process id, log and what runs. Short: a socket's path may have 107 bytes. */
  readonly runs: string;
  /** Images and containers. */
  readonly data: string;
  /** `overlay2` where the kernel and the file system have it, else `vfs`, which copies. */
  readonly driver: "overlay2" | "vfs";
}

/** Starts one with its images in `data`; throws when it does not answer. */
export async function startDaemon(data: string): Promise<Daemon> {
  const runs = await Deno.makeTempDir({ dir: "/run", prefix: "anvil-fleet-" });
  const kernel = await Deno.readTextFile("/proc/filesystems").catch(() => "");
  const drivers = /\boverlay\b/.test(kernel) ? ["overlay2", "vfs"] as const : ["vfs"] as const;
  let why = "";
  for (const driver of drivers) {
    const daemon: Daemon = { runs, data, driver };
    const said = await start(daemon);
    if (said === null) return daemon;
    why = said;
    await stopDaemon(daemon);
    await Deno.mkdir(runs, { recursive: true });
  }
  throw new Error(`dockerd does not start: ${why}`);
}

/** Null when it answers, else its last words. */
async function start({ runs, data, driver }: Daemon): Promise<string | null> {
  const dockerd = commandPath("dockerd");
  if (dockerd === null) return "it is not installed";
  new Deno.Command("/bin/sh", {
    args: [
      "-c",
      'exec "$0" --iptables=false --ip6tables=false --bridge=none --storage-driver="$3" ' +
      '--data-root="$2" --exec-root="$1/exec" --pidfile="$1/pid" -H "unix://$1/docker.sock" ' +
      '>>"$1/dockerd.log" 2>&1',
      ...[dockerd, runs, data, driver],
    ],
    stdin: "null",
    stdout: "null",
    stderr: "null",
    detached: true,
  }).spawn().unref();
  const until = performance.now() + START_MS;
  while (performance.now() < until) {
    const said = await run([...docker({ runs }), "version", "--format", "{{.Server.Version}}"]);
    if (said.code === 0) return null;
    const log = await Deno.readTextFile(`${runs}/dockerd.log`).catch(() => "");
    if (/failed to start daemon/.test(log)) break;
    await pause(200);
  }
  const log = await Deno.readTextFile(`${runs}/dockerd.log`).catch(() => "no log");
  return log.trim().split("\n").slice(-2).join(" | ");
}

/** The client and the socket. */
export function docker({ runs }: Pick<Daemon, "runs">): readonly string[] {
  return [commandPath("docker") ?? "docker", "-H", `unix://${runs}/docker.sock`];
}

/** Its process id; null when it does not run. A number that is now somebody else's counts as none. */
export async function daemonPid({ runs }: Daemon): Promise<number | null> {
  const pid = Number((await Deno.readTextFile(`${runs}/pid`).catch(() => "")).trim());
  if (!(pid > 1)) return null;
  const line = await Deno.readTextFile(`/proc/${pid}/cmdline`).catch(() => "");
  return line.includes(`--exec-root=${runs}/exec`) ? pid : null;
}

/** Ends it and every container, and removes what it made but its images' folder. */
export async function stopDaemon(daemon: Daemon): Promise<void> {
  const { runs } = daemon;
  const pid = await daemonPid(daemon);
  if (pid !== null) {
    const client = docker(daemon);
    const listed = await run([...client, "ps", "-aq"]);
    const ids = listed.out.trim().split("\n").filter((id) => id !== "");
    if (ids.length > 0) await run([...client, "rm", "-f", "-v", ...ids]);
    const nets = await run([
      ...[...client, "network", "ls", "-q", "--filter", "type=custom"],
    ]);
    for (const net of nets.out.trim().split("\n").filter((id) => id !== "")) {
      await run([...client, "network", "rm", net]);
    }
    Deno.kill(pid, "SIGTERM");
    const until = performance.now() + STOP_MS;
    while (await exists(`/proc/${pid}`) && performance.now() < until) await pause(100);
    if (await exists(`/proc/${pid}`)) Deno.kill(pid, "SIGKILL");
  }
  await unmountBelow(runs);
  await Deno.remove(runs, { recursive: true }).catch(() => {});
}

/** Unmounts what is mounted below `folder`, the deepest first. */
export async function unmountBelow(folder: string): Promise<void> {
  const table = await Deno.readTextFile("/proc/self/mounts");
  const points = table.split("\n").map((line) => line.split(" ")[1] ?? "")
    .filter((point) => point.startsWith(`${folder}/`)).sort().reverse();
  for (const point of points) await run(["umount", "-l", point]);
}

/** A `10.213.N` that no interface of this machine has. */
export async function freeSubnet(): Promise<string> {
  const taken = await must(["ip", "-4", "route", "show", "table", "all"]);
  for (let number = 7; number < 250; number++) {
    if (!taken.includes(`10.213.${number}.`)) return `10.213.${number}`;
  }
  throw new Error("no 10.213.N.0/24 is free on this machine");
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
