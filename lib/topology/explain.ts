/**
 * Why things are as they are: what each host may do, who may back each capability, and by which rule.
 *
 * @module
 */

import { INELIGIBLE, type Ineligible, ineligible } from "./eligibility.ts";
import type { FleetIndex } from "./fleet_index.ts";
import type { CommandIdentity } from "./resolve.ts";
import type { Host } from "./shape.ts";
import { chooseWay } from "./transport.ts";

/** A host's place in the fleet. */
export interface HostExplained {
  readonly host: string;
  readonly runtime: "docker" | "native" | "model-free";
  /** As `2 devices, 97887 MiB each less 2048` or `36864 MiB of unified memory`. */
  readonly memory: string;
  readonly availability: Host["availability"];
  readonly reserved: string | null;
  readonly eligible: boolean;
  readonly reasons: readonly Ineligible[];
  /** `local` or `agent`, and why. */
  readonly way: string;
  readonly because: string;
}

/** A capability's place in the fleet. */
export interface CapabilityExplained {
  readonly capability: string;
  readonly promoted:
    | { readonly host: string; readonly tier: string; readonly evidence: string }
    | null;
  /** Hosts that may back it. */
  readonly eligible: readonly string[];
  /** The others, and every reason. */
  readonly ineligible: readonly {
    readonly host: string;
    readonly reasons: readonly Ineligible[];
  }[];
}

/** Explains one declared host. */
export function explainHost(
  index: FleetIndex,
  identity: CommandIdentity | null,
  id: string,
): HostExplained {
  const host = index.hosts.get(id);
  if (host === undefined) throw new TypeError(`${id} is not in the fleet`);
  const reasons = ineligible(host);
  const way = chooseWay(index, identity, id);
  return {
    host: id,
    runtime: host.runtime ?? "model-free",
    memory: memoryOf(host),
    availability: host.availability,
    reserved: host.reserved ?? null,
    eligible: reasons.length === 0,
    reasons,
    way: way.kind === "refused" ? "none" : way.kind,
    because: way.kind === "refused" ? way.detail : way.because,
  };
}

/** Explains one capability, declared or not. */
export function explainCapability(index: FleetIndex, capability: string): CapabilityExplained {
  const judged = [...index.hosts].sort(([left], [right]) => left < right ? -1 : 1)
    .map(([host, declared]) => ({ host, reasons: ineligible(declared, capability) }));
  return {
    capability,
    promoted: index.fleet.capabilities?.[capability]?.promoted ?? null,
    eligible: judged.filter(({ reasons }) => reasons.length === 0).map(({ host }) => host),
    ineligible: judged.filter(({ reasons }) => reasons.length > 0),
  };
}

/** Reasons as a sentence; `eligible` when there are none. */
export function reasonText(reasons: readonly Ineligible[]): string {
  return reasons.length === 0 ? "eligible" : reasons.map((one) => INELIGIBLE[one]).join("; ");
}

function memoryOf({ memory }: Host): string {
  if (memory === undefined) return "none declared";
  if (memory.model === "unified") return `${memory.budget_mib} MiB of unified memory`;
  const usable = memory.devices.map(({ memory_mib, reserve_mib }) => memory_mib - reserve_mib);
  const devices = usable.length === 1 ? "1 device" : `${usable.length} devices`;
  return `${devices}, ${usable.reduce((sum, one) => sum + one, 0)} MiB to serve with`;
}
