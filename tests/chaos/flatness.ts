/**
 * Whether memory is flat: the slope of a process's resident memory over the second half of a soak.
 *
 * The bound is 6 MiB an hour. A runtime's heap breathes by several MiB between two collections, so
 * less cannot be told from noise within half an hour; at the soak's rate of thousands of requests an
 * hour a leak of 2 KiB a request is above it. The slope must be under the bound with the doubt of
 * its fit (two standard errors) taken off: a rise that may be chance is no leak, a clear one is.
 *
 * @module
 */

/** Bytes an hour. */
export const BOUND = 6 * 1024 * 1024;

/** Resident bytes at a time, in milliseconds. */
export interface Point {
  readonly at: number;
  readonly bytes: number;
}

/** What the points say. */
export interface Flatness {
  readonly points: number;
  readonly firstMib: number;
  readonly lastMib: number;
  readonly mostMib: number;
  /** MiB an hour, over the second half, and its standard error. */
  readonly slope: number;
  readonly error: number;
  readonly flat: boolean;
}

const MIB = 1024 * 1024;
const HOUR = 3_600_000;

/** Judges a series; null when there are too few points to fit a line. */
export function flatnessOf(points: readonly Point[]): Flatness | null {
  const half = points.slice(Math.floor(points.length / 2));
  const [first] = points;
  const last = points.at(-1);
  if (half.length < 4 || first === undefined || last === undefined) return null;
  const { slope, error } = fit(half);
  return {
    points: points.length,
    firstMib: first.bytes / MIB,
    lastMib: last.bytes / MIB,
    mostMib: Math.max(...points.map(({ bytes }) => bytes)) / MIB,
    slope: slope * HOUR / MIB,
    error: error * HOUR / MIB,
    flat: (slope - 2 * error) * HOUR <= BOUND,
  };
}

/** Least squares: bytes a millisecond. */
function fit(points: readonly Point[]): { slope: number; error: number } {
  const mean = (values: readonly number[]) =>
    values.reduce((sum, value) => sum + value, 0) / values.length;
  const middle = mean(points.map(({ at }) => at));
  const level = mean(points.map(({ bytes }) => bytes));
  let xx = 0;
  let xy = 0;
  for (const { at, bytes } of points) {
    xx += (at - middle) ** 2;
    xy += (at - middle) * (bytes - level);
  }
  const slope = xy / xx;
  const rest = points.reduce(
    (sum, { at, bytes }) => sum + (bytes - level - slope * (at - middle)) ** 2,
    0,
  );
  return { slope, error: Math.sqrt(rest / (points.length - 2) / xx) };
}
