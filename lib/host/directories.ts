/**
 * The directories port on the real file system.
 *
 * @module
 */

import { dirname, join } from "node:path";
import type {
  Directories,
  DirectoryChanged,
  DirectoryEntry,
  DirectoryFault,
  DirectoryList,
  DirectoryRefusal,
} from "../core/directories.ts";
import { refuse } from "../core/refusal.ts";
import { syncDirectory } from "./files.ts";
import { causeOf, isAbsent, isNoSpace } from "./os_error.ts";

/** The directories of this machine. */
export const systemDirectories: Directories = { list, make, move, remove };

async function list(path: string, most: number): Promise<DirectoryList> {
  const entries: DirectoryEntry[] = [];
  try {
    const facts = await Deno.lstat(path);
    if (!facts.isDirectory) return notADirectory();
    for await (const { name } of Deno.readDir(path)) {
      if (entries.length >= most) {
        return fault("directory_too_many", `more than ${most} entries`, new Error("too many"));
      }
      const entry = await entryOf(path, name);
      if (entry !== null) entries.push(entry);
    }
  } catch (error) {
    if (isAbsent(error)) return { kind: "absent" };
    return fault("directory_unreadable", "the directory cannot be read", error);
  }
  return { kind: "ok", entries: entries.sort((left, right) => left.name < right.name ? -1 : 1) };
}

async function entryOf(path: string, name: string): Promise<DirectoryEntry | null> {
  try {
    const { isFile, isDirectory, isSymlink, size, mode } = await Deno.lstat(join(path, name));
    const kind = isSymlink ? "link" : isFile ? "file" : isDirectory ? "directory" : "other";
    const executable = kind === "file" && ((mode ?? 0) & 0o111) !== 0;
    return { name, kind, size: kind === "file" ? size : 0, executable };
  } catch (error) {
    if (isAbsent(error)) return null;
    throw error;
  }
}

async function make(path: string, mode: 0o700 | 0o755 = 0o700): Promise<DirectoryChanged> {
  try {
    if (mode === 0o700) await Deno.mkdir(path, { recursive: true, mode });
    else await makeAll(path, mode);
    if (!(await Deno.lstat(path)).isDirectory) return notADirectory();
    // Above what we may read there is nothing to flush: a crash then loses an empty directory.
    await syncDirectory(dirname(path)).catch((error) => {
      if (!(error instanceof Deno.errors.NotCapable)) throw error;
    });
    return { kind: "ok" };
  } catch (error) {
    if (error instanceof Deno.errors.AlreadyExists) return notADirectory();
    return unwritable("the directory cannot be made", error);
  }
}

/** As the recursive call, but the umask takes nothing away from what is made. */
async function makeAll(path: string, mode: number): Promise<void> {
  try {
    await Deno.mkdir(path, { mode });
    if (Deno.build.os !== "windows") await Deno.chmod(path, mode);
  } catch (error) {
    if (error instanceof Deno.errors.AlreadyExists) return;
    if (!isAbsent(error) || dirname(path) === path) throw error;
    await makeAll(dirname(path), mode);
    await makeAll(path, mode);
  }
}

async function move(from: string, to: string): Promise<DirectoryChanged> {
  try {
    // Renaming onto an empty directory would replace it.
    await Deno.lstat(to);
    return fault("directory_exists", "the new name is taken", new Error("EEXIST"));
  } catch (error) {
    if (!isAbsent(error)) return unwritable("the new name cannot be looked at", error);
  }
  try {
    if (!(await Deno.lstat(from)).isDirectory) return notADirectory();
    await syncDirectory(from);
    await Deno.rename(from, to);
    await syncDirectory(dirname(to));
    if (dirname(from) !== dirname(to)) await syncDirectory(dirname(from));
    return { kind: "ok" };
  } catch (error) {
    return unwritable("the directory cannot be renamed", error);
  }
}

async function remove(path: string): Promise<DirectoryChanged> {
  try {
    if (!(await Deno.lstat(path)).isDirectory) return notADirectory();
    await Deno.remove(path, { recursive: true });
    await syncDirectory(dirname(path));
    return { kind: "ok" };
  } catch (error) {
    if (isAbsent(error)) return { kind: "ok" };
    return unwritable("the directory cannot be removed", error);
  }
}

function unwritable(detail: string, error: unknown): DirectoryRefusal {
  return isNoSpace(error)
    ? fault("directory_no_space", "the disk or a quota is full", error)
    : fault("directory_unwritable", detail, error);
}

function notADirectory(): DirectoryRefusal {
  const detail = "observed a file, link or device, expected a directory";
  return fault("not_a_directory", detail, new Error("ENOTDIR"));
}

function fault(code: DirectoryFault, detail: string, error: unknown): DirectoryRefusal {
  return { ...refuse(code, detail), cause: causeOf(error) };
}
