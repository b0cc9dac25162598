/**
 * Whether an upload arrived as it was sent.
 *
 * @module
 */

/** Null when the upstream got what was sent. */
export function compare(
  text: string,
  length: number,
  expected: number,
  exact: boolean,
): string | null {
  try {
    const got = JSON.parse(text) as { length: number; sum: number };
    if (exact && (got.length !== length || got.sum !== expected)) {
      return "an upload arrived changed";
    }
    if (Math.abs(got.length - length) > 1024) return "an upload arrived with another length";
    return null;
  } catch {
    return "an upload's answer was not the upstream's";
  }
}
