/**
 * A file that decides what may happen to a host: the port that reads it only while it is its owner's
 * alone.
 *
 * @module
 */

import type { Refusal } from "./refusal.ts";

/** Why it is not read. */
export type OwnedFault =
  | "file_absent"
  | "file_unreadable" // the operating system said no
  | "file_too_large"
  | "file_not_regular" // a link, directory, device or pipe
  | "file_shared" // it has a second name: somebody else may change it under that
  | "file_not_owned" // another user's
  | "file_not_private" // others may read or write it
  | "file_changed"; // another file took its name meanwhile

/** What reading gave. */
export type OwnedRead =
  | { readonly kind: "ok"; readonly bytes: Uint8Array<ArrayBuffer> }
  | (Refusal<OwnedFault> & { readonly cause: string });

/**
 * Reads a regular file of at most `maxBytes` that is ours, mode 0600 or 0400, has one name and is no
 * link. What was looked at is what is read. On a platform without owners and modes (Windows) only
 * its kind and size are looked at.
 */
export type ReadOwned = (path: string, maxBytes: number) => Promise<OwnedRead>;
