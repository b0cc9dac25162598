/**
 * Random bytes that are none: 0, 1, 2 ... so that ids in a test are known and differ.
 *
 * @module
 */

import type { RandomBytes } from "../core/ids.ts";

/** A fresh source that counts from `first`. */
export function countedRandom(first = 0): RandomBytes {
  let next = first;
  return (length) => Uint8Array.from({ length }, () => next++ & 0xff);
}
