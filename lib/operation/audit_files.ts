/**
 * The files of an audit: the live one, and those that were full.
 *
 *     audit-000000000001.jsonl   audit-000000004711.jsonl   audit.jsonl
 *          named for the seq of their first record           the live one
 *
 * @module
 */

import { type AppendFile, reopenAppendFile } from "../host/append_file.ts";
import { moveFileSync, removeFileSync, siblingsSync } from "../host/file_moves.ts";
import { parent, within } from "../host/paths.ts";

/** How much is kept. */
export interface AuditBounds {
  /** A file that has as many bytes is full. */
  readonly fileBytes: number;
  /** Full files that are kept besides the live one. */
  readonly files: number;
}

/** 16 full files of 64 MiB: some two million operations. */
export const AUDIT_BOUNDS: AuditBounds = { fileBytes: 64 * 1024 * 1024, files: 16 };

/** The full files beside the live one at `path`, oldest first, as paths. */
export function fullFiles(path: string): readonly string[] {
  const named = new RegExp(`^${RegExp.escape(stemOf(path))}-\\d{12}\\.jsonl$`);
  return siblingsSync(path).filter((name) => named.test(name)).sort()
    .map((name) => within(parent(path), name));
}

/** Where the live file at `path` goes when it is full, if `first` is the seq of its first record. */
export function fullName(path: string, first: number): string {
  return within(parent(path), `${stemOf(path)}-${String(first).padStart(12, "0")}.jsonl`);
}

/**
 * Moves the full file away and opens a fresh one. When that cannot be, all is as it was and null comes
 * back: records go on into the full file, which is better than none.
 */
export function rotate(path: string, first: number): AppendFile | null {
  const full = fullName(path, first);
  if (!moved(path, full)) return null;
  const fresh = reopenAppendFile(path);
  // If it cannot be moved back either, the next start finds its records by the full name.
  if (fresh === null) moved(full, path);
  return fresh;
}

function moved(from: string, to: string): boolean {
  try {
    moveFileSync(from, to);
    return true;
  } catch {
    return false;
  }
}

/** Lets go of a full file. */
export function letGo(path: string): void {
  removeFileSync(path);
}

function stemOf(path: string): string {
  const name = path.slice(parent(path).length).replace(/^[/\\]/, "");
  return name.replace(/\.jsonl$/, "");
}
