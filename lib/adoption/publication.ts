/**
 * Where what is published stands, below a publisher's address. A plain tree: any web server can serve
 * it.
 *
 *     /candidates/<host>.json    the pointer: an envelope, replaced at once, never to be stored
 *     /blobs/sha256/<hex>        never changes: a manifest, or a file of one
 *
 * @module
 */

/** The path of a host's pointer. */
export function pointerTarget(host: string): string {
  return `/candidates/${host}.json`;
}

/** The path of a blob; `sha256` is 64 lower-case hex digits, with `sha256:` before them or not. */
export function blobTarget(sha256: string): string {
  return `/blobs/sha256/${sha256.replace(/^sha256:/, "")}`;
}
