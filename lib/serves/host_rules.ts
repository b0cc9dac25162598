/**
 * What a manifest claims, against the host it is for: runtime class, reservation, supervisor, memory.
 *
 * @module
 */

import type { Problem } from "../core/problem.ts";
import type { Table } from "../document/toml.ts";
import type { Host } from "../topology/shape.ts";
import { covers, RUNTIMES } from "../topology/vocabulary.ts";
import { at, textAt, writtenClaim } from "./written.ts";

/** Codes of {@link findHostFaults}. */
export const HOST_CODES = [
  "serve_on_model_free",
  "serve_runtime_differs",
  "serve_on_reserved",
  "supervisor_of_other_os",
  "memory_model_differs",
  "device_unknown",
  "memory_exceeds_device",
  "memory_exceeds_budget",
  "residents_exceed_device",
  "residents_exceed_budget",
] as const;

/** Which operating system has which supervisor. */
const OS_OF: { readonly [supervisor: string]: Host["os"] } = {
  "systemd-user": "linux",
  "systemd-system": "linux",
  "launchd": "macos",
  "windows-task": "windows",
};

/** Everything that does not fit `host`. */
export function findHostFaults(
  serves: readonly Table[],
  id: string,
  host: Host,
): readonly Problem[] {
  if (host.runtime === undefined) {
    const message = `${id} is model-free: declare its runtime in the topology, or serve elsewhere`;
    return serves.map((_, index) => at(index, [], "serve_on_model_free", message));
  }
  return [
    ...serves.flatMap((serve, index) => [
      ...placeFaults(serve, index, id, host),
      ...claimFaults(serve, index, id, host),
    ]),
    ...residentFaults(serves, id, host),
  ];
}

function placeFaults(serve: Table, index: number, id: string, host: Host): Problem[] {
  const problems: Problem[] = [];
  const runtime = textAt(serve, "runtime");
  if (RUNTIMES.some((one) => one === runtime) && runtime !== host.runtime) {
    const message = `${id} has the runtime class ${host.runtime}; its serves have it too`;
    problems.push(at(index, ["runtime"], "serve_runtime_differs", message));
  }
  const capability = textAt(serve, "capability");
  if (host.reserved !== undefined && capability !== null && !covers(host.reserved, capability)) {
    const message = `${id} is reserved for ${host.reserved} and serves nothing else`;
    problems.push(at(index, ["capability"], "serve_on_reserved", message));
  }
  const os = OS_OF[textAt(serve, "supervisor") ?? ""];
  if (os !== undefined && os !== host.os) {
    const message = `${id} runs ${host.os}; this supervisor belongs to ${os}`;
    problems.push(at(index, ["supervisor"], "supervisor_of_other_os", message));
  }
  return problems;
}

function claimFaults(serve: Table, index: number, id: string, { memory }: Host): Problem[] {
  const claim = writtenClaim(serve);
  if (claim === null || memory === undefined) return [];
  const wrong = (key: string, code: string, message: string) =>
    at(index, ["memory", key], code, message);
  if (claim.kind !== memory.model) {
    const message = `${id} has ${memory.model} memory: expected ` +
      (memory.model === "discrete" ? "`device` and `mib`" : "`unified_mib`");
    return [at(index, ["memory"], "memory_model_differs", message)];
  }
  if (claim.kind === "unified") {
    if (memory.model !== "unified" || claim.mib <= memory.budget_mib) return [];
    const message = `${claim.mib} MiB of a budget of ${memory.budget_mib}: it can never start`;
    return [wrong("unified_mib", "memory_exceeds_budget", message)];
  }
  const devices = memory.model === "discrete" ? memory.devices : [];
  const isList = claim.devices.length > 1;
  return claim.devices.flatMap(({ device, mib }) => {
    const found = devices.find((one) => one.id === device);
    if (found === undefined) {
      const known = devices.map((one) => one.id).join(", ");
      const message = `${id} has no device ${JSON.stringify(device)}; it has ${known}`;
      return [wrong(isList ? "devices" : "device", "device_unknown", message)];
    }
    const room = found.memory_mib - found.reserve_mib;
    const message = `${mib} MiB of the ${room} that ${device} has for serves: it can never start`;
    return mib <= room ? [] : [wrong("mib", "memory_exceeds_device", message)];
  });
}

/** What is always there must fit beside itself; modes are looked at when they are entered. */
function residentFaults(serves: readonly Table[], id: string, { memory }: Host): Problem[] {
  if (memory === undefined) return [];
  const taken = new Map<string, number>();
  const problems: Problem[] = [];
  serves.forEach((serve, index) => {
    if (textAt(serve, "residency") !== "resident" || Object.hasOwn(serve, "mode")) return;
    const claim = writtenClaim(serve);
    if (claim === null || claim.kind !== memory.model) return;
    const parts = claim.kind === "unified" ? [{ device: "", mib: claim.mib }] : claim.devices;
    for (const { device, mib } of parts) {
      const room = memory.model === "unified"
        ? memory.budget_mib
        : deviceRoom(memory.devices, device);
      if (room === null || mib > room) continue; // said by the claim's own rule
      const sum = (taken.get(device) ?? 0) + mib;
      taken.set(device, sum);
      if (sum <= room) continue;
      const where = device === "" ? id : device;
      const code = device === "" ? "residents_exceed_budget" : "residents_exceed_device";
      const message =
        `with this one the resident serves take ${sum} MiB of the ${room} of ${where}`;
      problems.push(at(index, ["memory"], code, message));
    }
  });
  return problems;
}

function deviceRoom(
  devices: readonly {
    readonly id: string;
    readonly memory_mib: number;
    readonly reserve_mib: number;
  }[],
  id: string,
): number | null {
  const found = devices.find((one) => one.id === id);
  return found === undefined ? null : found.memory_mib - found.reserve_mib;
}
