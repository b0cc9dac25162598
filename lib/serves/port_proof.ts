/**
 * Whether a port is free again, or who holds it.
 *
 * @module
 */

import type { Clock } from "../core/clock.ts";
import type { Unknown } from "./driver.ts";
import type { OsFacts } from "./os_facts.ts";

/** A port as it is now. */
export type PortNow =
  | { readonly kind: "free" }
  /** `pids` is empty when the system does not tell whose it is. */
  | { readonly kind: "held"; readonly pids: readonly number[] }
  | Unknown;

/** Between two looks, in milliseconds. */
const PAUSE_MS = 100;

/** Who listens on `port`. */
export async function portNow(
  facts: Pick<OsFacts, "listeners">,
  port: number,
  signal: AbortSignal,
): Promise<PortNow> {
  const seen = await facts.listeners(signal);
  if (seen.kind === "unknown") return seen;
  const holders = seen.value.filter((one) => one.port === port);
  return holders.length === 0
    ? { kind: "free" }
    : { kind: "held", pids: holders.flatMap(({ pid }) => pid === null ? [] : [pid]) };
}

/** Waits at most `patienceMs` until nobody listens on `port`; says what the last look saw. */
export async function portFreed(
  { facts, clock }: { readonly facts: OsFacts; readonly clock: Clock },
  port: number,
  patienceMs: number,
  signal: AbortSignal,
): Promise<PortNow> {
  const until = clock.monotonic() + patienceMs;
  for (;;) {
    const now = await portNow(facts, port, signal);
    if (now.kind !== "held" || clock.monotonic() >= until) return now;
    await clock.sleep(PAUSE_MS, signal);
  }
}
