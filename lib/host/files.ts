/**
 * The files port on the real file system.
 *
 * @module
 */

import { basename, dirname, join } from "node:path";
import type {
  FileFault,
  FilePrivacy,
  FileRead,
  FileRefusal,
  FileReplaced,
  Files,
} from "../core/files.ts";
import { hex } from "../core/ids.ts";
import { refuse } from "../core/refusal.ts";
import { causeOf, isAbsent, isNoSpace } from "./os_error.ts";

const ON_WINDOWS = Deno.build.os === "windows";

/** The files of this machine. */
export const systemFiles: Files = { readBounded, replaceFile, checkPrivate };

async function readBounded(path: string, maxBytes: number): Promise<FileRead> {
  try {
    // Before opening: opening a pipe for reading waits until somebody writes to it.
    if (!(await Deno.stat(path)).isFile) return notRegular();
    using file = await Deno.open(path, { read: true });
    const { isFile, size } = await file.stat();
    if (!isFile) return notRegular();
    if (size > maxBytes) return tooLarge(maxBytes, `${size} bytes`);
    return await readWhole(file, size, maxBytes);
  } catch (error) {
    if (isAbsent(error)) return { kind: "absent" };
    return fault("file_unreadable", "the operating system does not let us read the file", error);
  }
}

/** Reads to the end, whatever the size was said to be: a file can grow, and /proc says 0. */
async function readWhole(file: Deno.FsFile, size: number, maxBytes: number): Promise<FileRead> {
  let bytes = new Uint8Array(Math.min(size, maxBytes) + 1);
  let length = 0;
  for (;;) {
    const read = await file.read(bytes.subarray(length));
    if (read === null) return { kind: "ok", bytes: bytes.subarray(0, length) };
    length += read;
    if (length > maxBytes) return tooLarge(maxBytes, "it grew while it was read");
    if (length === bytes.length) {
      const larger = new Uint8Array(Math.min(length * 2 + 4096, maxBytes + 1));
      larger.set(bytes);
      bytes = larger;
    }
  }
}

async function replaceFile(path: string, bytes: Uint8Array, mode: number): Promise<FileReplaced> {
  const directory = dirname(path);
  const suffix = hex(crypto.getRandomValues(new Uint8Array(8)));
  const temp = join(directory, `.${basename(path)}.${suffix}.tmp`);
  try {
    await writeNew(temp, bytes, mode);
    await Deno.rename(temp, path);
  } catch (error) {
    await Deno.remove(temp).catch(() => {}); // the first failure is the one to tell
    return isNoSpace(error)
      ? fault("file_no_space", "the disk or a quota is full; the old content stands", error)
      : fault("file_unwritable", "the file cannot be written; the old content stands", error);
  }
  try {
    await syncDirectory(directory);
  } catch (error) {
    const detail = "the file was replaced, but its directory could not be flushed to the disk";
    return fault("file_sync_unknown", detail, error);
  }
  return { kind: "ok" };
}

async function writeNew(path: string, bytes: Uint8Array, mode: number): Promise<void> {
  using file = await Deno.open(path, { write: true, createNew: true, mode: mode & 0o700 });
  await writeAll(file, bytes);
  // The umask may have taken bits away; those for others are only added to finished content.
  if (!ON_WINDOWS) await Deno.chmod(path, mode);
  await file.sync();
}

/** Writes all of `bytes`: one `write` may take fewer. */
export async function writeAll(file: Deno.FsFile, bytes: Uint8Array): Promise<void> {
  for (let written = 0; written < bytes.length;) {
    written += await file.write(bytes.subarray(written));
  }
}

/** Removes a file, durably; one that is not there is fine. False: the operating system said no. */
export async function removeFile(path: string): Promise<boolean> {
  try {
    await Deno.remove(path);
    await syncDirectory(dirname(path));
    return true;
  } catch (error) {
    return isAbsent(error);
  }
}

/** Makes created and renamed names durable. Windows has no such call and needs none for NTFS. */
export async function syncDirectory(path: string): Promise<void> {
  if (ON_WINDOWS) return;
  using directory = await Deno.open(path, { read: true });
  await directory.sync();
}

/**
 * Needs `--allow-sys=uid` besides read permission. Answers `unknown` on Windows, where access lists
 * decide and Deno cannot read them: the caller decides whether unknown is acceptable, and says so.
 */
async function checkPrivate(path: string): Promise<FilePrivacy> {
  let facts: Deno.FileInfo;
  let self: number | null;
  try {
    facts = await Deno.lstat(path);
    self = Deno.uid();
  } catch (error) {
    if (isAbsent(error)) return { kind: "absent" };
    return { kind: "unknown", detail: "the operating system does not tell who may read the file" };
  }
  if (facts.isSymlink) {
    return refuse("file_is_link", "observed a symbolic link, expected the file itself");
  }
  if (!facts.isFile) {
    return refuse("file_not_regular", "observed something other than a file, expected a file");
  }
  if (facts.mode === null || facts.uid === null || self === null) {
    return { kind: "unknown", detail: "this platform does not tell who may read the file" };
  }
  if (facts.uid !== self) {
    return refuse(
      "file_not_owned",
      `observed owner uid ${facts.uid}, expected ${self}, the user this runs as`,
      "change the owner of the file",
    );
  }
  const mode = facts.mode & 0o7777;
  if (mode !== 0o600 && mode !== 0o400) {
    return refuse(
      "file_not_private",
      `observed mode ${mode.toString(8).padStart(4, "0")}, expected 0600 or 0400`,
      "chmod 600 the file; if others could read it, replace what it holds",
    );
  }
  return { kind: "private" };
}

function notRegular(): FileRefusal {
  const detail = "observed a directory, device or pipe, expected a regular file";
  return { ...refuse("file_not_regular", detail), cause: "not a regular file" };
}

function tooLarge(maxBytes: number, observed: string): FileRefusal {
  const detail = `observed more than the ${maxBytes} bytes allowed`;
  return { ...refuse("file_too_large", detail), cause: observed };
}

function fault(code: FileFault, detail: string, error: unknown): FileRefusal {
  return { ...refuse(code, detail), cause: causeOf(error) };
}
