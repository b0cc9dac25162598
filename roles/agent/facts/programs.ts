/**
 * The programs that facts may start: the tasks in deno.json allow these, by system, and no other.
 *
 * @module
 */

import { ADAPTERS, FACTS } from "./gather.ts";
import { ASKING } from "./port_owner.ts";
import { SYSFS_PROGRAMS } from "./sysfs.ts";

/** Names of the programs of `os`, as Deno calls the system. */
export function programsOf(os: string): ReadonlySet<string> {
  const adapter = ADAPTERS[os];
  const asking = ASKING[os];
  if (adapter === undefined || asking === undefined) return new Set();
  const sources = [...FACTS.map((name) => adapter[name]), adapter.diskOf("/")];
  return new Set([
    ...sources.flatMap((source) => source?.programs.map(([program]) => program) ?? []),
    asking.listeners(1)[0],
    asking.processes([1])[0],
    ...(os === "linux" ? SYSFS_PROGRAMS : []),
  ]);
}
