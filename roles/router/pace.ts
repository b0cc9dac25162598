/**
 * How quick each tier was lately, out of the decisions that are held anyway: asked for, not kept.
 *
 * @module
 */

import type { Decision } from "./decision.ts";

/** How far back is looked, in milliseconds. */
export const PACE_MS = 60_000;

/** One tier over the last {@link PACE_MS}; times in milliseconds, null when nothing was measured. */
export type Pace = {
  readonly tier: string;
  readonly window_seconds: number;
  /** Requests that ended in the window; of the newest thousand of the router at most. */
  readonly requests: number;
  /** Of these, what was neither answered whole nor left by its client. */
  readonly failed: number;
  readonly ttft_ms: Quantiles | null;
  readonly duration_ms: Quantiles | null;
};

type Quantiles = { readonly p50: number; readonly p95: number };

/** Outcomes that are no failure of the tier: done, or left by the client. */
const FINE: readonly Decision["outcome"][] = [
  "completed",
  "completed_unverified",
  "client_closed",
  "client_stalled",
];

/** The pace of each of `tiers` at `now`, a wall clock's milliseconds. */
export function paces(
  decisions: readonly Decision[],
  tiers: Iterable<string>,
  now: number,
): readonly Pace[] {
  const recent = decisions.filter(({ at, duration_ms }) => {
    const ago = now - (Date.parse(at) + duration_ms);
    return ago >= -1000 && ago <= PACE_MS;
  });
  return [...tiers].map((tier) => {
    const own = recent.filter((one) => one.tier === tier);
    return {
      tier,
      window_seconds: PACE_MS / 1000,
      requests: own.length,
      failed: own.filter(({ outcome }) => !FINE.includes(outcome)).length,
      ttft_ms: quantiles(own.flatMap(({ ttft_ms }) => ttft_ms ?? [])),
      duration_ms: quantiles(own.map(({ duration_ms }) => duration_ms)),
    };
  });
}

function quantiles(values: readonly number[]): Quantiles | null {
  if (values.length === 0) return null;
  const sorted = values.toSorted((left, right) => left - right);
  const at = (share: number) =>
    Math.round(sorted[Math.min(sorted.length - 1, Math.ceil(share * sorted.length) - 1)] ?? 0);
  return { p50: at(0.5), p95: at(0.95) };
}
