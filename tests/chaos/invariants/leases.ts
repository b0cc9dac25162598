/**
 * No lease is leaked: while clients ask, no more is in flight than they asked; when they are gone,
 * nothing is.
 *
 * @module
 */

import type { Facts, Violation } from "../facts.ts";

const INVARIANT = "no lease leaked";

/** Leases nobody asked for. */
export function leakedLease(
  { samples, quiet }: Pick<Facts, "samples" | "quiet">,
): readonly Violation[] {
  const violations: Violation[] = [];
  const say = (detail: string) => void violations.push({ invariant: INVARIANT, detail });
  for (const { host, tiers, open, from } of samples) {
    const held = tiers.reduce((sum, { in_flight, waiting }) => sum + in_flight + waiting, 0);
    if (held > open) {
      say(`${host} at ${(from / 1000).toFixed(1)} s: ${held} held, ${open} asked`);
    }
  }
  for (const { host, tiers } of quiet) {
    for (const { tier, in_flight, waiting } of tiers) {
      if (in_flight + waiting > 0) {
        say(`${host} ${tier}: ${in_flight} in flight, ${waiting} wait, in the quiet`);
      }
    }
  }
  return violations;
}
