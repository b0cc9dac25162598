/**
 * The facts of a Linux host: `ps`, `ss`, `free`, `nvidia-smi`.
 *
 * @module
 */

import type { RunProcess } from "../core/process.ts";
import type { DeviceUse } from "./budget.ts";
import {
  type ListenerFact,
  notUnderstood,
  type OsFacts,
  type PathKind,
  type ProcessFact,
  seen,
  tell,
} from "./os_facts.ts";

const PS = [
  "ps",
  ...["-e", "-ww", "-o", "pid=,ppid=,pgid=,lstart=,rss=,stat=,cgroup:1024=,args="],
] as const;
const SS = ["ss", "-H", "-l", "-t", "-n", "-p"] as const;
const FREE = ["free", "-b", "-w"] as const;
const SMI = ["nvidia-smi", "--format=csv,noheader,nounits"] as const;

/** Facts by `run`. */
export function linuxFacts(run: RunProcess): OsFacts {
  return {
    processes: (signal) => seen(tell(run, PS, signal), "ps", readPs),
    listeners: (signal) => seen(tell(run, SS, signal), "ss", readSs),
    available: (signal) => seen(tell(run, FREE, signal), "free", readFree),
    paths: async (paths, signal) => {
      const told = await tell(run, ["stat", "-L", "-c", "%f %n", "--", ...paths], signal);
      // It exits with 1 when one of them is not there, and tells the others.
      if (told.kind === "unknown") return told;
      return told.code > 1
        ? notUnderstood(`stat exited with ${told.code}`)
        : { kind: "seen", value: readStat(told.text, paths) };
    },
    devices: async (signal) => {
      const uses = await tell(run, [...SMI, "--query-gpu=uuid,memory.used"], signal);
      // No program, no such device that we could measure: what is not in the map counts as used.
      if (uses.kind === "unknown") {
        return uses.code === "runtime_unreachable" ? { kind: "seen", value: new Map() } : uses;
      }
      const processes = await tell(
        run,
        [...SMI, "--query-compute-apps=gpu_uuid,pid,used_memory"],
        signal,
      );
      const of = processes.kind === "told" && processes.code === 0 ? processes.text : null;
      const read = Promise.resolve(uses);
      return await seen(read, "nvidia-smi", (text) => readDevices(text, of));
    },
  };
}

/** `stat -c "%f %n"`: the mode in hexadecimal, then the name. */
export function readStat(text: string, paths: readonly string[]): ReadonlyMap<string, PathKind> {
  const modes = new Map(
    text.split("\n").map((line) => [line.slice(line.indexOf(" ") + 1), line.split(" ")[0] ?? ""]),
  );
  return new Map(paths.map((path) => {
    const written = modes.get(path);
    const mode = written === undefined ? null : Number.parseInt(written, 16);
    return [path, mode === null ? "absent" : kindOf(mode)] as const;
  }));
}

function kindOf(mode: number): PathKind {
  const type = mode & 0xf000;
  if (type === 0x4000) return "directory";
  if (type !== 0x8000) return "other";
  return (mode & 0o111) === 0 ? "file" : "program";
}

const PS_LINE = new RegExp(
  [
    /^\s*(\d+)\s+(\d+)\s+(\d+)/, // pid, parent, group
    /\s+\w{3}\s+(\w{3})\s+(\d+)\s+(\d\d):(\d\d):(\d\d)\s+(\d{4})/, // lstart, in UTC
    /\s+(\d+)\s+(\S+)\s+(\S+)\s+(.*)$/, // rss, stat, cgroup, args
  ].map((part) => part.source).join(""),
);

const MONTHS = "JanFebMarAprMayJunJulAugSepOctNovDec";

/** `ps` with the columns above; RSS is in KiB. */
export function readPs(text: string): readonly ProcessFact[] | null {
  const found: ProcessFact[] = [];
  for (const line of text.split("\n")) {
    if (line.trim() === "") continue;
    const match = PS_LINE.exec(line);
    if (match === null) return null;
    const [, pid, parent, group, month = "", ...rest] = match;
    const [day, hour, minute, second, year, rss, stat = "", scope = "", args = ""] = rest;
    const index = MONTHS.indexOf(month);
    if (index % 3 !== 0) return null;
    found.push({
      pid: Number(pid),
      parent: Number(parent),
      group: Number(group),
      startedAt: Date.UTC(
        ...[Number(year), index / 3, Number(day), Number(hour), Number(minute)] as const,
        Number(second),
      ),
      residentMib: Math.ceil(Number(rss) / 1024),
      isZombie: stat.startsWith("Z"),
      scope: scope === "-" ? "" : scope,
      commandLine: args.trimEnd(),
    });
  }
  return found;
}

/** `ss -H -l -t -n -p`: one entry per listener and process that holds it. */
export function readSs(text: string): readonly ListenerFact[] | null {
  const found: ListenerFact[] = [];
  for (const line of text.split("\n")) {
    if (line.trim() === "") continue;
    const local = /^LISTEN\s+\d+\s+\d+\s+\S+:(\d+)\s+\S+(?:\s+(.*))?$/.exec(line);
    if (local === null) return null;
    const port = Number(local[1]);
    const pids = [...(local[2] ?? "").matchAll(/pid=(\d+)/g)].map(([, pid]) => Number(pid));
    if (pids.length === 0) found.push({ port, pid: null });
    for (const pid of new Set(pids)) found.push({ port, pid });
  }
  return found;
}

/** The `available` column of `free -b -w`, in MiB. */
export function readFree(text: string): number | null {
  const row = /^Mem:\s+(.*)$/m.exec(text)?.[1]?.split(/\s+/).map(Number);
  const available = row?.[6];
  return row?.length === 7 && available !== undefined && Number.isSafeInteger(available)
    ? Math.floor(available / 1024 / 1024)
    : null;
}

/** Two answers of `nvidia-smi`; `processes` null: it does not tell whose memory it is. */
export function readDevices(
  uses: string,
  processes: string | null,
): ReadonlyMap<string, DeviceUse> | null {
  const rows = (text: string) =>
    text.split("\n").filter((line) => line.trim() !== "").map((line) => line.split(/,\s*/));
  const found = new Map<string, DeviceUse>();
  for (const [uuid = "", used = "", ...more] of rows(uses)) {
    if (uuid === "" || !/^\d+$/.test(used) || more.length > 0) return null;
    const whose = processes === null ? null : [];
    found.set(uuid, { usedMib: Number(used), processes: whose });
  }
  for (const [uuid = "", pid = "", used = ""] of rows(processes ?? "")) {
    const use = found.get(uuid);
    // `[N/A]` under some drivers: then nothing of it is proven to be anybody's.
    if (use?.processes === null || use === undefined || !/^\d+$/.test(pid) || !/^\d+$/.test(used)) {
      continue;
    }
    const entry = { pid: Number(pid), mib: Number(used) };
    found.set(uuid, { ...use, processes: [...use.processes, entry] });
  }
  return found;
}
