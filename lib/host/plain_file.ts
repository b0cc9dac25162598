/**
 * Files read for somebody far away, on the real file system.
 *
 * @module
 */

import { join } from "node:path";
import type { PlainRead, ReadPlainFile } from "../core/plain_file.ts";
import { refuse } from "../core/refusal.ts";
import { isAbsent } from "./os_error.ts";

/** Looks before opening and again after it, so that a swap between the two is seen. */
export const readPlainFile: ReadPlainFile = async (folder, name, maxBytes) => {
  const path = join(folder, name);
  try {
    const place = await Deno.lstat(folder);
    if (place.isSymlink) return refuse("file_is_link", "the folder is a symbolic link");
    const seen = await Deno.lstat(path);
    if (seen.isSymlink) return refuse("file_is_link", "observed a symbolic link, expected a file");
    if (!seen.isFile) {
      return refuse("file_not_regular", "observed a directory, device or pipe, expected a file");
    }
    using file = await Deno.open(path, { read: true });
    const held = await file.stat();
    if (!held.isFile || held.dev !== seen.dev || held.ino !== seen.ino) {
      return refuse("file_changed", "the file was replaced while it was looked at", "ask again");
    }
    if ((held.nlink ?? 1) > 1) {
      return refuse("file_hard_linked", `observed ${held.nlink} names for the file, expected one`);
    }
    return await whole(file, held, maxBytes);
  } catch (error) {
    if (isAbsent(error)) return { kind: "absent" };
    return refuse(
      "file_unreadable",
      "the operating system, or the agent's own permissions, do not let it be read",
    );
  }
};

async function whole(
  file: Deno.FsFile,
  { size, mtime, mode }: Deno.FileInfo,
  maxBytes: number,
): Promise<PlainRead> {
  const most = `expected at most ${maxBytes} bytes`;
  if (size > maxBytes) return refuse("file_too_large", `observed ${size} bytes, ${most}`);
  const bytes = new Uint8Array(size + 1);
  let length = 0;
  while (length < bytes.length) {
    const read = await file.read(bytes.subarray(length));
    if (read === null) break;
    length += read;
  }
  if (length > size) return refuse("file_changed", "the file grew while it was read", "ask again");
  const facts = {
    size: length,
    modifiedAt: mtime?.getTime() ?? null,
    mode: mode === null ? null : mode & 0o7777,
  };
  return { kind: "ok", bytes: bytes.subarray(0, length), facts };
}
