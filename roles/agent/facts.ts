/**
 * Facts about this machine as its own programs tell them. A narrow process may not read /proc, so
 * each fact comes from one allowed program, or from /proc/pressure, which alone is open.
 *
 * @module
 */

import type { Json } from "../../lib/core/canonical_json.ts";
import { type Clock, timestamp } from "../../lib/core/clock.ts";
import type { Files } from "../../lib/core/files.ts";
import type { RunProcess } from "../../lib/core/process.ts";

/** One fact: what was seen, where, when; `value` is null when it was not seen, and `why` says why. */
export interface Fact {
  readonly [key: string]: Json;
  readonly value: Json;
  readonly source: string;
  readonly at: string;
  readonly why: string | null;
}

/** What facts are gathered with. */
export interface FactPorts {
  readonly run: RunProcess;
  readonly files: Files;
  readonly clock: Clock;
  /** Of the operating system, as `linux`. */
  readonly os: string;
}

/** Where the programs are looked for; nothing of our own environment is passed on. */
const ENV = {
  PATH: "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin:/run/current-system/sw/bin",
  LC_ALL: "C",
  TZ: "UTC",
};
const DEADLINE_MS = 5000;
const MOST_OUTPUT = 1024 * 1024;

type Argv = readonly [string, ...string[]];

/** Programs a fact may start: the task in deno.json allows these and no other. */
export const PROGRAMS = {
  memory: ["free", "-b", "-w"],
  devices: [
    "nvidia-smi",
    "--query-gpu=index,name,uuid,memory.total,memory.used,temperature.gpu,power.draw",
    "--format=csv,noheader,nounits",
  ],
  disk: ["df", "-B1", "-P", "-l"],
  ports: ["ss", "-H", "-l", "-t", "-n"],
  power: ["upower", "-d"],
} as const satisfies { readonly [fact: string]: Argv };

/** Every fact, gathered side by side. */
export async function gatherFacts(
  ports: FactPorts,
  signal: AbortSignal,
): Promise<{ readonly [fact: string]: Fact }> {
  const [memory, devices, disk, listening, power, pressure] = await Promise.all([
    fromProgram(ports, PROGRAMS.memory, readFree, signal),
    fromProgram(ports, PROGRAMS.devices, readNvidia, signal),
    fromProgram(ports, PROGRAMS.disk, readDf, signal),
    fromProgram(ports, PROGRAMS.ports, readSs, signal),
    fromProgram(ports, PROGRAMS.power, readUpower, signal),
    fromPressure(ports),
  ]);
  return { memory, devices, disk, listening, power, pressure };
}

/** Space where `path` is, in bytes. */
export async function diskAt(ports: FactPorts, path: string, signal: AbortSignal): Promise<Fact> {
  const fact = await fromProgram(ports, ["df", "-B1", "-P", "--", path], readDf, signal);
  return Array.isArray(fact.value) ? { ...fact, value: fact.value[0] ?? null } : fact;
}

async function fromProgram(
  ports: FactPorts,
  argv: Argv,
  read: (text: string) => Json,
  signal: AbortSignal,
): Promise<Fact> {
  const at = timestamp(ports.clock.now());
  const source = argv[0];
  const not = (why: string): Fact => ({ value: null, source, at, why });
  if (ports.os !== "linux") return not("unsupported_platform");
  const bounds = { env: ENV, deadlineMs: DEADLINE_MS, maxOutputBytes: MOST_OUTPUT, signal };
  const ended = await ports.run({ argv, ...bounds });
  if (ended.kind === "failed_to_start") return not(ended.code);
  if (ended.kind !== "exited") return not(ended.kind);
  if (ended.code !== 0) return not(`exited_${ended.code}`);
  const value = read(new TextDecoder().decode(ended.stdout));
  return value === null ? not("output_not_understood") : { value, source, at, why: null };
}

async function fromPressure({ files, clock, os }: FactPorts): Promise<Fact> {
  const at = timestamp(clock.now());
  const source = "/proc/pressure";
  if (os !== "linux") return { value: null, source, at, why: "unsupported_platform" };
  const value: { [resource: string]: Json } = {};
  for (const resource of ["cpu", "memory", "io"]) {
    const read = await files.readBounded(`${source}/${resource}`, 4096);
    if (read.kind !== "ok") {
      const why = read.kind === "absent" ? "absent" : read.code;
      return { value: null, source, at, why };
    }
    value[resource] = readPressure(new TextDecoder().decode(read.bytes));
  }
  return { value, source, at, why: null };
}

/** `free -b -w`: bytes. */
export function readFree(text: string): Json {
  const row = (name: string) =>
    text.split("\n").find((line) => line.startsWith(`${name}:`))?.trim().split(/\s+/).slice(1)
      .map(Number);
  const memory = row("Mem");
  const swap = row("Swap");
  if (memory === undefined || memory.length !== 7 || !memory.every(Number.isSafeInteger)) {
    return null;
  }
  const [total = 0, used = 0, , , , , available = 0] = memory;
  return {
    total_bytes: total,
    used_bytes: used,
    available_bytes: available,
    swap_total_bytes: swap?.[0] ?? 0,
    swap_used_bytes: swap?.[1] ?? 0,
  };
}

/** `df -B1 -P`: bytes; mounts of memory are left out. */
export function readDf(text: string): Json {
  const [head, ...lines] = text.trimEnd().split("\n");
  if (head?.startsWith("Filesystem") !== true) return null;
  const rows: Json[] = [];
  for (const line of lines) {
    const match = /^(\S.*?)\s+(\d+)\s+(\d+)\s+(-?\d+)\s+(?:\d+%|-)\s+(\/.*)$/.exec(line);
    if (match === null) return null;
    const [, device = "", total, used, available, mount = ""] = match;
    if (device === "tmpfs" || device === "devtmpfs") continue;
    rows.push({
      mount,
      total_bytes: Number(total),
      used_bytes: Number(used),
      available_bytes: Number(available),
    });
  }
  return rows;
}

/** `ss -H -l -t -n`: where somebody listens. */
export function readSs(text: string): Json {
  const found = new Map<string, Json>();
  for (const line of text.split("\n")) {
    if (line === "") continue;
    const local = /^LISTEN\s+\d+\s+\d+\s+(\S+):(\d+)\s/.exec(line);
    if (local === null) return null;
    const [, address = "", port] = local;
    found.set(`${address} ${port}`, { address, port: Number(port) });
  }
  return [...found.values()];
}

/** `nvidia-smi --query-gpu`: MiB, degrees Celsius, watts; null for what a device does not tell. */
export function readNvidia(text: string): Json {
  const rows: Json[] = [];
  for (const line of text.trim().split("\n")) {
    const cells = line.split(", ");
    if (cells.length !== 7) return null;
    const [index, name = "", uuid = "", total, used, celsius, watts] = cells;
    const number = (cell: string | undefined) => {
      const value = Number(cell);
      return cell === undefined || cell.trim() === "" || Number.isNaN(value) ? null : value;
    };
    rows.push({
      index: number(index),
      name,
      uuid,
      memory_total_mib: number(total),
      memory_used_mib: number(used),
      celsius: number(celsius),
      watts: number(watts),
    });
  }
  return rows;
}

/** `upower -d`: on battery or not. */
export function readUpower(text: string): Json {
  const onBattery = /^\s*on-battery:\s*(yes|no)\s*$/m.exec(text)?.[1];
  return onBattery === undefined ? null : { on_battery: onBattery === "yes" };
}

/** One file of /proc/pressure: percent of time over ten seconds. */
function readPressure(text: string): Json {
  const of = (kind: string) => {
    const found = new RegExp(`^${kind} avg10=([0-9.]+)`, "m").exec(text)?.[1];
    return found === undefined ? null : Number(found);
  };
  return { some_avg10: of("some"), full_avg10: of("full") };
}
