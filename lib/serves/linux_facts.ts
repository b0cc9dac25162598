/**
 * The facts of a Linux host: `ps`, `ss`, `free`, `nvidia-smi`.
 *
 * @module
 */

import type { RunProcess } from "../core/process.ts";
import type { DeviceUse } from "./budget.ts";
import { readPs } from "./ps_table.ts";
import { readStat } from "./stat_modes.ts";
import { type ListenerFact, notUnderstood, type OsFacts, seen, tell } from "./os_facts.ts";

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
    processes: (signal) => seen(tell(run, PS, signal), "ps", (text) => readPs(text, true)),
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

const USERS = /^users:\(\("[^"]*",pid=\d+,fd=\d+\)(?:,\("[^"]*",pid=\d+,fd=\d+\))*\)\s*$/;

/** `ss -H -l -t -n -p`: one entry per listener and process that holds it. */
export function readSs(text: string): readonly ListenerFact[] | null {
  const found: ListenerFact[] = [];
  for (const line of text.split("\n")) {
    if (line.trim() === "") continue;
    const local = /^LISTEN\s+\d+\s+\d+\s+\S+:(\d+)\s+\S+(?:\s+(.*))?$/.exec(line);
    if (local === null) return null;
    const port = Number(local[1]);
    // A program chooses its own name: one that looks like a holder makes the holders unknown.
    const users = USERS.test(local[2] ?? "") ? local[2] ?? "" : "";
    const pids = [...users.matchAll(/",pid=(\d+),fd=/g)].map(([, pid]) => Number(pid));
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
