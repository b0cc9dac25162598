/**
 * How alike two texts are: twice the longest common subsequence over both lengths, in code points.
 * 1 is equal, 0 has nothing in common; what is missing counts like what is more.
 *
 * @module
 */

/** Code points of each text that are looked at: what follows is not compared. */
export const MOST_COMPARED = 20_000;

/** 0 to 1; two empty texts are equal. */
export function similarity(left: string, right: string): number {
  const [a, b] = [pointsOf(left), pointsOf(right)];
  if (a.length + b.length === 0) return 1;
  return (2 * commonLength(a, b)) / (a.length + b.length);
}

/** The first code points of a text. */
function pointsOf(text: string): readonly string[] {
  return [...text.slice(0, MOST_COMPARED * 2)].slice(0, MOST_COMPARED);
}

/** Length of the longest common subsequence. */
function commonLength(left: readonly string[], right: readonly string[]): number {
  let start = 0;
  const least = Math.min(left.length, right.length);
  while (start < least && left[start] === right[start]) start++;
  let end = 0;
  while (end < least - start && left.at(-1 - end) === right.at(-1 - end)) end++;
  const a = left.slice(start, left.length - end);
  const b = right.slice(start, right.length - end);
  return start + end + bitParallel(a, b);
}

/**
 * One row of the table of common subsequences is the bits of one integer (Hyyrö 2004): a zero bit is
 * a step. Twenty thousand by twenty thousand take a fraction of a second.
 */
function bitParallel(a: readonly string[], b: readonly string[]): number {
  if (a.length === 0 || b.length === 0) return 0;
  const places = new Map<string, bigint>();
  for (const [at, point] of a.entries()) {
    places.set(point, (places.get(point) ?? 0n) | (1n << BigInt(at)));
  }
  const all = (1n << BigInt(a.length)) - 1n;
  let row = all;
  for (const point of b) {
    const matched = row & (places.get(point) ?? 0n);
    row = ((row + matched) | (row - matched)) & all;
  }
  let steps = 0;
  for (const digit of row.toString(2).padStart(a.length, "0")) if (digit === "0") steps++;
  return steps;
}
