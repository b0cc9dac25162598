/**
 * Paths as files name each other: relative to the file they stand in.
 *
 * @module
 */

import { dirname, isAbsolute, join, resolve } from "node:path";

/** `path`, seen from the directory that `file` is in. */
export function beside(file: string, path: string): string {
  return isAbsolute(path) ? path : resolve(dirname(file), path);
}

/** A file in a directory. */
export function within(directory: string, name: string): string {
  return join(directory, name);
}

/** The directory that `path` is in; of a root, itself. */
export function parent(path: string): string {
  return dirname(path);
}

/** The id of the user this process runs as; null where there is none, or it may not be asked. */
export function userId(): number | null {
  try {
    return Deno.uid();
  } catch {
    return null;
  }
}
