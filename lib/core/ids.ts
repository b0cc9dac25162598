/**
 * Ids: how things declared by people are named, and how things we make get names.
 *
 * @module
 */

/** Declared ids of hosts, tiers, members, clients: `[a-z][a-z0-9-]*`, at most 63 characters. */
export const ID_PATTERN = /^[a-z][a-z0-9-]{0,62}$/;

/** A request id we accept from a client and echo back: 1 to 128 of `[A-Za-z0-9._-]`. */
const REQUEST_ID_PATTERN = /^[A-Za-z0-9._-]{1,128}$/;

/** The id a client sent with its request; null when it sent none that may be echoed. */
export function requestIdFrom(sent: string | null): string | null {
  return sent !== null && REQUEST_ID_PATTERN.test(sent) ? sent : null;
}

/** Random bytes as a port: `crypto.getRandomValues` in the binaries, counted bytes in tests. */
export type RandomBytes = (length: number) => Uint8Array;

/** A fresh id: `prefix-` and 96 random bits in lower-case hex. */
export function newId(prefix: string, random: RandomBytes): string {
  return `${prefix}-${hex(random(12))}`;
}

/**
 * Makes ids that are unique without a random number each: `prefix-`, 64 random bits for the process,
 * a count. For what is made thousands of times a second and need not be hard to guess.
 */
export function countedIds(prefix: string, random: RandomBytes): () => string {
  const stem = `${prefix}-${hex(random(8))}-`;
  let made = 0;
  return () => stem + (made++).toString(36);
}

/** Lower-case hex of `bytes`. */
export function hex(bytes: Uint8Array): string {
  return bytes.toHex();
}
