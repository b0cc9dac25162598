/**
 * Files of one directory by their age, and their removal one by one.
 *
 * @module
 */

import { join } from "node:path";
import { refuse } from "../core/refusal.ts";
import type { DirectoryRefusal } from "../core/directories.ts";
import { syncDirectory } from "./files.ts";
import { causeOf, isAbsent } from "./os_error.ts";

/** One file. */
export interface AgedFile {
  readonly name: string;
  /** Bytes. */
  readonly size: number;
}

/** What was found, or why nobody can tell. */
export type AgedFiles =
  | { readonly kind: "ok"; readonly files: readonly AgedFile[] }
  | DirectoryRefusal;

/** The regular files directly in `path` that were last written before `before`, in milliseconds. */
export async function filesOlderThan(path: string, before: number): Promise<AgedFiles> {
  const files: AgedFile[] = [];
  try {
    for await (const { name } of Deno.readDir(path)) {
      const facts = await Deno.lstat(join(path, name)).catch((error) => {
        if (isAbsent(error)) return null;
        throw error;
      });
      const written = facts?.mtime?.getTime() ?? null;
      if (facts?.isFile && written !== null && written < before) {
        files.push({ name, size: facts.size });
      }
    }
  } catch (error) {
    if (!isAbsent(error)) return unreadable("directory_unreadable", error);
  }
  return { kind: "ok", files: files.sort((left, right) => left.name < right.name ? -1 : 1) };
}

/** Removes these files of `path`; one that is not there is fine. Stops at the first that stays. */
export async function removeFiles(
  path: string,
  names: readonly string[],
): Promise<DirectoryRefusal | null> {
  try {
    for (const name of names) {
      await Deno.remove(join(path, name)).catch((error) => {
        if (!isAbsent(error)) throw error;
      });
    }
    if (names.length > 0) await syncDirectory(path);
    return null;
  } catch (error) {
    return unreadable("directory_unwritable", error);
  }
}

function unreadable(code: DirectoryRefusal["code"], error: unknown): DirectoryRefusal {
  return { ...refuse(code, "the operating system said no"), cause: causeOf(error) };
}
