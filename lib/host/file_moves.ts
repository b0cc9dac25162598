/**
 * Files renamed, removed and listed at once, for code that must not yield between two records.
 *
 * @module
 */

import { dirname } from "node:path";
import { isAbsent } from "./os_error.ts";

/**
 * Gives a file another name in the same folder. Throws when the system says no; the name is the old one
 * then. A folder that cannot be flushed may show the old name again after a power cut.
 */
export function moveFileSync(from: string, to: string): void {
  Deno.renameSync(from, to);
  try {
    syncFolder(dirname(to));
  } catch {
    // It is moved all the same.
  }
}

/** Removes a file; one that is not there is fine. Throws when the system says no. */
export function removeFileSync(path: string): void {
  try {
    Deno.removeSync(path);
  } catch (error) {
    if (!isAbsent(error)) throw error;
  }
}

/** Names of everything in the folder of `path`; none when there is no such folder. */
export function siblingsSync(path: string): readonly string[] {
  try {
    return [...Deno.readDirSync(dirname(path))].map(({ name }) => name);
  } catch (error) {
    if (isAbsent(error)) return [];
    throw error;
  }
}

/** Windows has no such call and needs none for NTFS. */
function syncFolder(path: string): void {
  if (Deno.build.os === "windows") return;
  using folder = Deno.openSync(path, { read: true });
  folder.syncSync();
}
