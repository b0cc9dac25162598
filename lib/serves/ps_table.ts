/**
 * The table of `ps`, as Linux and macOS print it in the C locale and UTC. RSS is in KiB.
 *
 * @module
 */

import type { ProcessFact } from "./os_facts.ts";

/** pid, parent, group; lstart; rss, stat, then the control group where there is one; args. */
const HEAD = /^\s*(\d+)\s+(\d+)\s+(\d+)\s+\w{3}\s+(\w{3})\s+(\d+)\s+(\d\d):(\d\d):(\d\d)\s+(\d{4})/;
const WITH_SCOPE = new RegExp(`${HEAD.source}\\s+(\\d+)\\s+(\\S+)\\s+(\\S+)\\s+(.*)$`);
const WITHOUT = new RegExp(`${HEAD.source}\\s+(\\d+)\\s+(\\S+)()\\s+(.*)$`);

const MONTHS = "JanFebMarAprMayJunJulAugSepOctNovDec";

/** Reads it; null when a line is another. `scoped`: with the control group before the arguments. */
export function readPs(text: string, scoped: boolean): readonly ProcessFact[] | null {
  const found: ProcessFact[] = [];
  for (const line of text.split("\n")) {
    if (line.trim() === "") continue;
    const match = (scoped ? WITH_SCOPE : WITHOUT).exec(line);
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
