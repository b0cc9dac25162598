/**
 * Rules about the memory of hosts.
 *
 * @module
 */

import { pathOf, type Problem } from "../core/problem.ts";
import type { Draft, MemoryDraft } from "./draft.ts";

/** Missing models, and reserves that do not fit. */
export function findMemoryFaults({ hosts }: Draft): readonly Problem[] {
  return [...hosts].flatMap(([id, { written, memory }]) => {
    if (memory !== null) return [...deviceReserves(id, memory), ...budgetFaults(id, memory)];
    if ("memory" in written || !("runtime" in written)) return [];
    return [{
      path: pathOf(["hosts", id, "memory"]),
      code: "memory_missing",
      message: "a host with a runtime declares its memory, discrete or unified",
    }];
  });
}

function deviceReserves(id: string, { devices }: MemoryDraft): Problem[] {
  return devices.flatMap(({ memory_mib, reserve_mib }, index) =>
    memory_mib === undefined || reserve_mib === undefined || reserve_mib < memory_mib ? [] : [{
      path: pathOf(["hosts", id, "memory", "devices", index, "reserve_mib"]),
      code: "reserve_exceeds_memory",
      message: `${reserve_mib} MiB of ${memory_mib} stay free: nothing is left to serve with`,
    }]
  );
}

function budgetFaults(id: string, memory: MemoryDraft): Problem[] {
  const { model, budget_mib, os_reserve_mib, memory_mib } = memory;
  if (model !== "unified" || budget_mib === undefined || os_reserve_mib === undefined) return [];
  if (memory_mib === undefined || budget_mib + os_reserve_mib <= memory_mib) return [];
  return [{
    path: pathOf(["hosts", id, "memory", "budget_mib"]),
    code: "budget_leaves_no_reserve",
    message: `${budget_mib} MiB of ${memory_mib} do not leave the ${os_reserve_mib} MiB that the ` +
      `operating system keeps; at most ${Math.max(0, memory_mib - os_reserve_mib)}`,
  }];
}

/** Two devices with one name on a host, or one device in two places. */
export function findDeviceFaults({ hosts }: Draft): readonly Problem[] {
  const uuids = new Set<string>();
  return [...hosts].flatMap(([host, { memory }]) => {
    const ids = new Set<string>();
    return (memory?.devices ?? []).flatMap(({ id, uuid }, index) => {
      const at = (key: string, message: string): Problem => ({
        path: pathOf(["hosts", host, "memory", "devices", index, key]),
        code: "duplicate_device",
        message,
      });
      return [
        ...(isNew(ids, id) ? [] : [at("id", "another device of this host is called so already")]),
        ...(isNew(uuids, uuid) ? [] : [at("uuid", "this device is declared already")]),
      ];
    });
  });
}

function isNew(seen: Set<string>, name: string | undefined): boolean {
  if (name === undefined) return true;
  if (seen.has(name)) return false;
  seen.add(name);
  return true;
}
