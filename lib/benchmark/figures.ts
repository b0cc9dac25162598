/**
 * Values of one kind as a distribution: quantiles by nearest rank, so that each one was observed.
 *
 * @module
 */

import type { Distribution } from "../evidence/evidence_shape.ts";

/** The distribution of `values`; null when there are none. */
export function distributionOf(values: readonly number[]): Distribution | null {
  const sorted = values.toSorted((a, b) => a - b).map(round);
  const first = sorted[0];
  const last = sorted.at(-1);
  if (first === undefined || last === undefined) return null;
  const rank = (part: number) => sorted[Math.max(0, Math.ceil(part * sorted.length) - 1)] ?? last;
  const mean = sorted.reduce((sum, value) => sum + value, 0) / sorted.length;
  return {
    count: sorted.length,
    min: first,
    // Rounding must not take it out of its own bounds.
    mean: Math.min(last, Math.max(first, round(mean))),
    p50: rank(0.5),
    p90: rank(0.9),
    p99: rank(0.99),
    max: last,
  };
}

/** To a thousandth: no clock of ours knows more. */
export function round(value: number): number {
  return Math.round(value * 1000) / 1000;
}
