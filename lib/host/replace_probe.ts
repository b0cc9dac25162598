/**
 * The replace probe on the real file system: one file is renamed over another that is open, and what
 * is then seen under the name, through the open file, and of the directory's flush is looked at.
 *
 * What a crash would leave cannot be tried; file systems that are known to have neither a journal nor
 * an order of their writes (the FAT family) are refused by their kind.
 *
 * @module
 */

import { statfs } from "node:fs/promises";
import { join } from "node:path";
import type { ReplaceProbed } from "../core/replace_probe.ts";
import { syncDirectory, writeAll } from "./files.ts";
import { causeOf, isAbsent, isNoSpace } from "./os_error.ts";

/** `f_type` of Linux file systems that keep no promise about a rename, and their names. */
const NOT_ATOMIC: ReadonlyMap<number, string> = new Map([
  [0x4d44, "msdos or vfat"],
  [0x2011bab0, "exfat"],
]);

/** Tries it. */
export async function probeReplace(folder: string): Promise<ReplaceProbed> {
  const [name, second] = [join(folder, ".replace-probe"), join(folder, ".replace-probe.new")];
  try {
    const kind = await kindOf(folder);
    if (kind !== null) return notAtomic(`the file system is ${kind}`);
    for (const left of [name, second]) await removeIfThere(left);
    await writeNew(name, "old");
    using held = await Deno.open(name, { read: true });
    await writeNew(second, "new");
    return await replaced(folder, name, second, held);
  } catch (error) {
    return { kind: isNoSpace(error) ? "no_space" : "unwritable", cause: causeOf(error) };
  } finally {
    // Best effort: what stays is removed by the next probe.
    for (const left of [name, second]) await removeIfThere(left).catch(() => {});
  }
}

async function replaced(
  folder: string,
  name: string,
  second: string,
  held: Deno.FsFile,
): Promise<ReplaceProbed> {
  try {
    await Deno.rename(second, name);
  } catch (error) {
    return notAtomic(`one name cannot be renamed over another: ${causeOf(error)}`);
  }
  if (await Deno.readTextFile(name) !== "new") return notAtomic("the name has the old content");
  const bytes = new Uint8Array(8);
  const read = await held.read(bytes);
  if (new TextDecoder().decode(bytes.subarray(0, read ?? 0)) !== "old") {
    return notAtomic("whoever has the old file open sees the new content");
  }
  const isThere = await Deno.lstat(second).then(() => true, (error) => !isAbsent(error));
  if (isThere) return notAtomic("both names are there after the rename");
  try {
    await syncDirectory(folder);
  } catch (error) {
    return notAtomic(`the directory cannot be flushed: ${causeOf(error)}`);
  }
  return { kind: "atomic" };
}

/** The name of a file system that is refused by its kind; null for any other. */
async function kindOf(folder: string): Promise<string | null> {
  if (Deno.build.os !== "linux") return null;
  const { type } = await statfs(folder);
  return NOT_ATOMIC.get(type) ?? null;
}

async function writeNew(path: string, text: string): Promise<void> {
  using file = await Deno.open(path, { write: true, createNew: true, mode: 0o600 });
  await writeAll(file, new TextEncoder().encode(text));
  await file.sync();
}

async function removeIfThere(path: string): Promise<void> {
  try {
    await Deno.remove(path);
  } catch (error) {
    if (!isAbsent(error)) throw error;
  }
}

function notAtomic(cause: string): ReplaceProbed {
  return { kind: "not_atomic", cause };
}
