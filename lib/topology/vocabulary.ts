/**
 * The words a fleet is described with. Public: no word here belongs to a particular fleet.
 *
 * @module
 */

/** Operating systems of a host. */
export const OSES = ["linux", "macos", "windows"] as const;
/** Processors of a host. */
export const ARCHES = ["x64", "arm64"] as const;
/** Runtime classes: what the lifecycle driver speaks. A host without one is model-free. */
export const RUNTIMES = ["docker", "native"] as const;
/** Availability classes: always there and thermally stable, or a machine that sleeps and travels. */
export const AVAILABILITIES = ["continuous", "opportunistic"] as const;
/** How a host takes up new software. */
export const ADOPTION_POLICIES = ["rolling", "stage-only", "manual", "none"] as const;
/** What an adoption that needs a reboot may do about it. */
export const REBOOT_POLICIES = ["notify", "window", "idle", "never"] as const;
/** Resource roles: what a host owns and commands look for. Unique per host, not globally. */
export const RESOURCE_ROLES = [
  "gateway",
  "operator",
  "proxy",
  "serving",
  "router",
  "voice",
  "evaluation",
  "qualification",
  "storage",
  "publisher",
] as const;

/** One of {@link RUNTIMES}. */
export type Runtime = (typeof RUNTIMES)[number];
/** One of {@link RESOURCE_ROLES}. */
export type ResourceRole = (typeof RESOURCE_ROLES)[number];

/** Names of capabilities: ids joined by dots, as `llm.primary`. */
export const CAPABILITY_PATTERN = /^[a-z][a-z0-9-]{0,62}(\.[a-z][a-z0-9-]{0,62}){0,3}$/;

/** True when what is reserved for `reserved` may serve `capability`: itself, or a part of it. */
export function covers(reserved: string, capability: string): boolean {
  return capability === reserved || capability.startsWith(`${reserved}.`);
}
