/**
 * The files port: bounded reads, one atomic replace, and the question whether a file is private.
 *
 * Every implementation passes `lib/testing/files_conformance.ts`. Absent, unreadable and wrong are
 * different answers. Paths are the caller's and never appear in a `detail`; the operating system's
 * own words go into `cause`, which is for the log.
 *
 * @module
 */

import type { Refusal } from "./refusal.ts";

/** Why a file that is there cannot be had or made. */
export type FileFault =
  | "file_too_large" // more bytes than the caller allowed, found before or while reading
  | "file_not_regular" // a directory, device, socket or pipe
  | "file_unreadable" // the operating system said no
  | "file_unwritable" // the operating system said no; the old content stands
  | "file_no_space" // the disk or a quota is full; the old content stands
  | "file_sync_unknown"; // the replace took place; whether it survives a power cut is not known

/** A refusal of the file system, with what it said. */
export interface FileRefusal extends Refusal<FileFault> {
  /** For the log: may hold a path. */
  readonly cause: string;
}

/** What a bounded read gave. */
export type FileRead =
  | { readonly kind: "ok"; readonly bytes: Uint8Array<ArrayBuffer> }
  | { readonly kind: "absent" }
  | FileRefusal;

/** What a replace did. */
export type FileReplaced = { readonly kind: "ok" } | FileRefusal;

/** Who else may read a file. */
export type FilePrivacy =
  | { readonly kind: "private" }
  | { readonly kind: "absent" }
  /** This platform cannot tell (Windows: access lists are not looked at). Never treat it as private. */
  | { readonly kind: "unknown"; readonly detail: string }
  | Refusal<"file_not_private" | "file_is_link" | "file_not_regular" | "file_not_owned">;

/** The files port. */
export interface Files {
  /** Reads a regular file of at most `maxBytes`. Follows links. Never waits on a pipe or device. */
  readBounded(path: string, maxBytes: number): Promise<FileRead>;
  /**
   * Makes `bytes` the content of `path`, or leaves it as it was: temp in the same directory, fsync,
   * rename, fsync of the directory. `mode` such as `0o600` holds from the first byte on. A link at
   * `path` is replaced, not followed. The directory must exist. On failure no temp file is left; a
   * crash can leave one, named `.<name>.<hex>.tmp`, which nothing reads.
   */
  replaceFile(path: string, bytes: Uint8Array, mode: number): Promise<FileReplaced>;
  /** True ownership and mode 0600 or 0400 of a regular file that is not a link. */
  checkPrivate(path: string): Promise<FilePrivacy>;
}
