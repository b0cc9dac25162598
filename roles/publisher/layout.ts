/**
 * Where what is in a publisher's folder.
 *
 *     <root>/public/candidates/<host>.json       pointers; what is below public/ is for everybody
 *            public/blobs/sha256/<hex>
 *            sequences/<host>.<channel>.json     the highest number ever reserved
 *            builds/<host>/result.json           what the last build said of itself
 *            builds/<host>/report.json           what became of it
 *            lock                                one publisher writes at a time
 *     <keys>/<key id>.json                       one key, mode 0600
 *            lock
 *
 * @module
 */

import { blobTarget, pointerTarget } from "../../lib/adoption/publication.ts";
import { within } from "../../lib/host/paths.ts";

/** What may be served. */
export function publicPath(root: string): string {
  return within(root, "public");
}

/** A host's pointer. */
export function pointerPath(root: string, host: string): string {
  return within(publicPath(root), pointerTarget(host));
}

/** A blob. */
export function blobPath(root: string, sha256: string): string {
  return within(publicPath(root), blobTarget(sha256));
}

/** The highest number reserved for a host and channel. */
export function sequencePath(root: string, host: string, channel: string): string {
  return within(root, `sequences/${host}.${channel}.json`);
}

/** What belongs to a host's builds. */
export function buildPath(root: string, host: string, name: "result.json" | "report.json"): string {
  return within(root, `builds/${host}/${name}`);
}

/** The writers' lock. */
export function lockPath(root: string): string {
  return within(root, "lock");
}

/** One key. */
export function keyPath(keys: string, id: string): string {
  return within(keys, `${id}.json`);
}
