/**
 * Random bytes of the operating system.
 *
 * @module
 */

import type { RandomBytes } from "../core/ids.ts";

/** `length` bytes, at most 65536, fit for keys and tokens. */
export const systemRandom: RandomBytes = (length) => crypto.getRandomValues(new Uint8Array(length));
