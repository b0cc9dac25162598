/**
 * Quantiles, and ratios paired by round: two relays are compared within a round only, since the
 * machine drifts from one to the next.
 *
 * @module
 */

/** A sample's shape. */
export interface Quantiles {
  readonly count: number;
  readonly p50: number;
  readonly p99: number;
  readonly max: number;
}

/** What a value did over the rounds. */
export interface Spread {
  readonly min: number;
  readonly median: number;
  readonly max: number;
}

/** The smallest value that `share` of the sorted sample does not exceed (nearest rank). */
export function quantile(sorted: ArrayLike<number>, share: number): number {
  if (sorted.length === 0) return NaN;
  const rank = Math.max(1, Math.ceil(share * sorted.length));
  return sorted[rank - 1] ?? NaN;
}

/** Sorts a copy and reads it. */
export function quantiles(sample: Iterable<number>): Quantiles {
  const sorted = Float64Array.from(sample).sort();
  return {
    count: sorted.length,
    p50: quantile(sorted, 0.5),
    p99: quantile(sorted, 0.99),
    max: quantile(sorted, 1),
  };
}

/** Over the rounds; null when no round has a number. An even count takes the mean of the middle two. */
export function spread(values: readonly (number | null)[]): Spread | null {
  const sorted = values.filter((value): value is number => value !== null && !Number.isNaN(value))
    .sort((a, b) => a - b);
  if (sorted.length === 0) return null;
  const middle = sorted.length / 2;
  const median = sorted.length % 2 === 1
    ? sorted[Math.floor(middle)] as number
    : ((sorted[middle - 1] as number) + (sorted[middle] as number)) / 2;
  return { min: sorted[0] as number, median, max: sorted[sorted.length - 1] as number };
}

/** `value / base` round by round; null where a side is missing or the base does not carry a ratio. */
export function pairedRatios(
  values: readonly (number | null)[],
  bases: readonly (number | null)[],
  /** Bases at or below this are noise: no ratio is better than a wild one. */
  floor = 0,
): (number | null)[] {
  return values.map((value, round) => {
    const base = bases[round] ?? null;
    return value === null || base === null || !(base > floor) ? null : value / base;
  });
}

/** `value - base` round by round. */
export function pairedDifferences(
  values: readonly (number | null)[],
  bases: readonly (number | null)[],
): (number | null)[] {
  return values.map((value, round) => {
    const base = bases[round] ?? null;
    return value === null || base === null ? null : value - base;
  });
}
