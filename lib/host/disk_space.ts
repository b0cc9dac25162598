/**
 * Free space of the file system a folder is on.
 *
 * @module
 */

import { statfs } from "node:fs/promises";
import { type Refusal, refuse } from "../core/refusal.ts";
import { causeOf } from "./os_error.ts";

/** Bytes that an ordinary user may still write below `path`. */
export async function freeBytes(
  path: string,
): Promise<
  | { readonly kind: "seen"; readonly bytes: number }
  | (Refusal<"space_unknown"> & { readonly cause: string })
> {
  try {
    const { bavail, bsize } = await statfs(path);
    return { kind: "seen", bytes: bavail * bsize };
  } catch (error) {
    const detail = "the operating system does not tell how much space is left";
    return { ...refuse("space_unknown", detail), cause: causeOf(error) };
  }
}
