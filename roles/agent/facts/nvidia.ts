/**
 * `nvidia-smi`, the same on Linux and Windows.
 *
 * @module
 */

import type { Json } from "../../../lib/core/canonical_json.ts";
import { type Source, wholeNumber } from "./fact.ts";

const FIELDS = [
  ...["index", "name", "uuid", "memory.total", "memory.used", "temperature.gpu", "power.draw"],
  "mig.mode.current",
];

/** Devices, and the instances that they are cut into. */
export const NVIDIA: Source = {
  programs: [
    ["nvidia-smi", `--query-gpu=${FIELDS.join(",")}`, "--format=csv,noheader,nounits"],
    ["nvidia-smi", "-L"],
  ],
  read: ([table = "", list = ""]) => readNvidia(table, list),
};

/**
 * MiB, degrees Celsius, watts; null for what a device does not tell (`[N/A]`, `[Not Supported]`): one
 * with unified memory has no total of its own, one that is cut into instances no use of its own.
 */
export function readNvidia(table: string, list: string): Json {
  if (/^No devices were found$/m.test(table)) return [];
  const instances = readInstances(list);
  if (instances === null || table.trim() === "") return null;
  const rows: Json[] = [];
  for (const line of table.trimEnd().split("\n")) {
    const cells = line.split(", ");
    if (cells.length !== FIELDS.length) return null;
    const [index, name = "", uuid = "", total, used, celsius, watts, mig] = cells;
    if (wholeNumber(index) === null || !/^GPU-[0-9a-f-]+$/.test(uuid)) return null;
    rows.push({
      index: wholeNumber(index),
      name,
      uuid,
      memory_total_mib: numberOf(total),
      memory_used_mib: numberOf(used),
      celsius: numberOf(celsius),
      watts: numberOf(watts),
      mig: mig === "Enabled" ? true : mig === "Disabled" ? false : null,
      instances: instances.get(uuid) ?? [],
    });
  }
  return rows;
}

/** Null for a cell in brackets or with an error in it. */
function numberOf(cell: string | undefined): number | null {
  return cell !== undefined && /^\d+(\.\d+)?$/.test(cell) ? Number(cell) : null;
}

/** `nvidia-smi -L`: `  MIG 1g.5gb Device 0: (UUID: MIG-...)` below `GPU 0: ... (UUID: GPU-...)`. */
function readInstances(list: string): Map<string, Json[]> | null {
  const found = new Map<string, Json[]>();
  let under: Json[] | null = null;
  for (const line of list.split("\n")) {
    const device = /^GPU \d+: .*\(UUID: (GPU-[0-9a-f-]+)\)$/.exec(line)?.[1];
    const instance = /^\s+MIG (\S+)\s+Device\s+\d+: \(UUID: (MIG-[0-9A-Za-z/-]+)\)$/.exec(line);
    if (device !== undefined) found.set(device, under = []);
    else if (instance !== null && under !== null) {
      const [, profile = "", uuid = ""] = instance;
      under.push({ profile, uuid });
    } else if (line.trim() !== "") return null;
  }
  return found.size === 0 ? null : found;
}
