/**
 * Which known name somebody probably meant.
 *
 * @module
 */

/** A name further away than this is another name, not a slip. */
const MOST_SLIPS = 2;

/** The known name that is at most two slips from `written`, and fewer than its length; else null. */
export function nearest(written: string, known: readonly string[]): string | null {
  let best: string | null = null;
  let least = Math.min(MOST_SLIPS + 1, written.length);
  for (const name of known) {
    const slips = distance(written, name, least);
    if (slips < least) [best, least] = [name, slips];
  }
  return best;
}

/** Letters put in, left out or changed; `atMost` when there are as many or more. */
function distance(left: string, right: string, atMost: number): number {
  if (Math.abs(left.length - right.length) >= atMost) return atMost;
  let row = Array.from({ length: right.length + 1 }, (_, i) => i);
  for (let i = 1; i <= left.length; i++) {
    const next = [i];
    for (let j = 1; j <= right.length; j++) {
      const changed = (row[j - 1] ?? 0) + (left[i - 1] === right[j - 1] ? 0 : 1);
      next.push(Math.min(changed, (row[j] ?? 0) + 1, (next[j - 1] ?? 0) + 1));
    }
    row = next;
  }
  return Math.min(row[right.length] ?? atMost, atMost);
}
