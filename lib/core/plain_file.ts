/**
 * The port for files that are read on behalf of somebody far away: the file itself, and nothing that
 * only leads to one.
 *
 * A link at the name, or a second name for the file, would let whoever can write in the folder choose
 * what is read elsewhere; both are refused, not followed.
 *
 * @module
 */

import type { Refusal } from "./refusal.ts";

/** What is known of a file besides its bytes. */
export interface PlainFacts {
  /** In bytes. */
  readonly size: number;
  /** Unix milliseconds. */
  readonly modifiedAt: number | null;
  /** Permission bits; null where the platform has none. */
  readonly mode: number | null;
}

/** What looking at one gave. */
export type PlainRead =
  | { readonly kind: "ok"; readonly bytes: Uint8Array<ArrayBuffer>; readonly facts: PlainFacts }
  | { readonly kind: "absent" }
  | Refusal<
    | "file_is_link" // a symbolic link
    | "file_hard_linked" // it has more than one name
    | "file_not_regular" // a directory, device or pipe
    | "file_too_large" // more bytes than the caller allowed
    | "file_changed" // it was replaced between two looks
    | "file_unreadable" // the operating system, or our own permissions, said no
  >;

/** Reads the regular file `name` in `folder`, of at most `maxBytes`. `folder` must be no link. */
export type ReadPlainFile = (
  folder: string,
  name: string,
  maxBytes: number,
) => Promise<PlainRead>;
