/**
 * The directories port: what is in one, and whole ones made, moved and removed.
 *
 * Every implementation passes `lib/testing/directories_conformance.ts`. Links are named and never
 * followed. Paths never appear in a `detail`; the operating system's own words go into `cause`.
 *
 * @module
 */

import type { Refusal } from "./refusal.ts";

/** Why a directory cannot be had, made, moved or removed. */
export type DirectoryFault =
  | "directory_unreadable" // the operating system said no
  | "directory_unwritable" // the operating system said no
  | "directory_no_space" // the disk or a quota is full
  | "directory_too_many" // more entries than the caller allowed
  | "directory_exists" // there is something at the new name already
  | "not_a_directory"; // a file, link or device has that name

/** A refusal of the file system, with what it said. */
export interface DirectoryRefusal extends Refusal<DirectoryFault> {
  /** For the log: may hold a path. */
  readonly cause: string;
}

/** One thing in a directory. */
export interface DirectoryEntry {
  readonly name: string;
  readonly kind: "file" | "directory" | "link" | "other";
  /** In bytes, of a file. */
  readonly size: number;
  /** True when anybody may run it. Never on Windows, which has no such bit. */
  readonly executable: boolean;
}

/** What is in a directory, by name in ascending order. */
export type DirectoryList =
  | { readonly kind: "ok"; readonly entries: readonly DirectoryEntry[] }
  | { readonly kind: "absent" }
  | DirectoryRefusal;

/** What a change did. */
export type DirectoryChanged = { readonly kind: "ok" } | DirectoryRefusal;

/** The directories port. */
export interface Directories {
  /** Lists at most `most` entries; one that vanishes meanwhile is left out. */
  list(path: string, most: number): Promise<DirectoryList>;
  /**
   * Makes a directory with its parents; one that is there stays as it is. All that are made get
   * mode 0700, or 0755 when everybody may look into them.
   */
  make(path: string, mode?: 0o700 | 0o755): Promise<DirectoryChanged>;
  /** Gives a directory another name on the same disk, at once and durably. */
  move(from: string, to: string): Promise<DirectoryChanged>;
  /** Removes a directory with all that is in it; one that is not there is fine. Not at once. */
  remove(path: string): Promise<DirectoryChanged>;
}
