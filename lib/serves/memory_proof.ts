/**
 * Whether the memory of a stopped serve came back to a host with unified memory.
 *
 * Other programs take and give memory meanwhile, so half of what it held counts as proof, and what
 * held less than a gibibyte is not weighed at all.
 *
 * @module
 */

import type { Clock } from "../core/clock.ts";
import type { OsFacts } from "./os_facts.ts";

/** Below this, noise is larger than the serve. */
const WEIGHED_MIB = 1024;
const PATIENCE_MS = 5000;
const PAUSE_MS = 250;

/** What was seen: MiB that came back, null when they were not weighed. */
export type MemoryBack =
  | { readonly kind: "back"; readonly mib: number | null }
  | { readonly kind: "missing"; readonly mib: number };

/** Looks until the memory is there, or patience is over. `before`: available MiB while it ran. */
export async function memoryBack(
  { facts, clock }: { readonly facts: OsFacts; readonly clock: Clock },
  resident: number | null,
  before: number | null,
  signal: AbortSignal,
): Promise<MemoryBack> {
  if (before === null) return { kind: "back", mib: null };
  const until = clock.monotonic() + PATIENCE_MS;
  for (;;) {
    const now = await facts.available(signal);
    const mib = now.kind === "seen" ? now.value - before : null;
    if (resident === null || resident < WEIGHED_MIB) return { kind: "back", mib };
    if (mib !== null && mib >= resident / 2) return { kind: "back", mib };
    if (clock.monotonic() >= until) return { kind: "missing", mib: mib ?? 0 };
    await clock.sleep(PAUSE_MS, signal);
  }
}
