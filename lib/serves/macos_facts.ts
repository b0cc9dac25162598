/**
 * The facts of a Mac: `ps`, `lsof`, `vm_stat`, `stat`.
 *
 * By the forms that their manuals give: no Mac was at hand when this was written.
 *
 * @module
 */

import type { RunProcess } from "../core/process.ts";
import { type ListenerFact, notUnderstood, type OsFacts, seen, tell } from "./os_facts.ts";
import { readPs } from "./ps_table.ts";
import { readStat } from "./stat_modes.ts";

const PS = ["ps", "-axww", "-o", "pid=,ppid=,pgid=,lstart=,rss=,stat=,args="] as const;
const LSOF = ["lsof", "-nP", "-iTCP", "-sTCP:LISTEN", "-Fpn"] as const;

/** Facts by `run`. */
export function macosFacts(run: RunProcess): OsFacts {
  return {
    processes: (signal) => seen(tell(run, PS, signal), "ps", (text) => readPs(text, false)),
    listeners: async (signal) => {
      const told = await tell(run, LSOF, signal);
      // It exits with 1 when nobody listens.
      if (told.kind === "told" && told.code === 1 && told.text === "") {
        return { kind: "seen", value: [] };
      }
      return await seen(Promise.resolve(told), "lsof", readLsof);
    },
    available: (signal) => seen(tell(run, ["vm_stat"], signal), "vm_stat", readVmStat),
    paths: async (paths, signal) => {
      const told = await tell(run, ["stat", "-L", "-f", "%Xp %N", "--", ...paths], signal);
      if (told.kind === "unknown") return told;
      return told.code > 1
        ? notUnderstood(`stat exited with ${told.code}`)
        : { kind: "seen", value: readStat(told.text, paths) };
    },
    // One memory: there is no device of its own.
    devices: () => Promise.resolve({ kind: "seen", value: new Map() }),
  };
}

/** `lsof -Fpn`: a line `p` for a process, then a line `n` for each of its ports. */
export function readLsof(text: string): readonly ListenerFact[] | null {
  const found = new Map<string, ListenerFact>();
  let pid: number | null = null;
  for (const line of text.split("\n")) {
    if (line === "" || line.startsWith("f")) continue;
    if (line.startsWith("p")) pid = Number(line.slice(1));
    else {
      const port = /^n.*:(\d+)$/.exec(line)?.[1];
      if (port === undefined || pid === null) return null;
      found.set(`${pid} ${port}`, { port: Number(port), pid });
    }
  }
  return [...found.values()];
}

/** `vm_stat`: pages that are free, or that can be had without writing anything out, in MiB. */
export function readVmStat(text: string): number | null {
  const size = Number(/page size of (\d+) bytes/.exec(text)?.[1]);
  const pages = ["free", "inactive", "speculative", "purgeable"].map((name) =>
    Number(new RegExp(`^Pages ${name}: +(\\d+)\\.$`, "m").exec(text)?.[1])
  );
  const total = pages.reduce((sum, one) => sum + one, 0) * size;
  return Number.isFinite(total) ? Math.floor(total / 1024 / 1024) : null;
}
