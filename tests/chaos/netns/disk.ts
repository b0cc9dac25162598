/**
 * A host's disk: a small tmpfs that can be filled, and records whose last line can be torn.
 *
 * @module
 */

import type { Tail } from "../fault.ts";
import { run } from "./run.ts";

/** Mounts a disk of `mib` at `path`. */
export async function mountDisk(path: string, mib: number): Promise<void> {
  await Deno.mkdir(path, { recursive: true });
  await run("mount", "-t", "tmpfs", "-o", `size=${mib}m,mode=0755`, "tmpfs", path);
}

const BALLAST = "ballast";

/** Fills it to the last byte. */
export async function fillDisk(path: string): Promise<void> {
  const file = await Deno.open(`${path}/${BALLAST}`, { create: true, append: true });
  try {
    for (const size of [1 << 20, 1 << 12]) {
      const block = new Uint8Array(size);
      try {
        for (;;) await file.write(block);
      } catch {
        // There is no room for one of this size any more.
      }
    }
  } finally {
    file.close();
  }
}

/** Makes room again. */
export async function clearDisk(path: string): Promise<void> {
  await Deno.remove(`${path}/${BALLAST}`).catch(() => {});
}

/** Every append-only record below `folder`. */
export async function recordsBelow(folder: string): Promise<readonly string[]> {
  const found: string[] = [];
  const entries = await Array.fromAsync(Deno.readDir(folder)).catch(() => []);
  for (const { name, isDirectory, isFile } of entries) {
    const path = `${folder}/${name}`;
    if (isDirectory) found.push(...await recordsBelow(path));
    else if (isFile && name.endsWith(".jsonl")) found.push(path);
  }
  return found;
}

/**
 * Adds to `path` what a power cut leaves behind the last flushed line: never touches a whole line.
 * False when somebody holds the file or it has no line yet.
 */
export async function tearTail(path: string, tail: Tail): Promise<boolean> {
  const file = await Deno.open(path, { read: true, write: true });
  try {
    if (!await file.tryLock(true)) return false;
    const bytes = await Deno.readFile(path);
    if (bytes.at(-1) !== 10) return false; // torn already
    const start = bytes.lastIndexOf(10, bytes.length - 2) + 1;
    const line = bytes.subarray(start, bytes.length - 1);
    const torn = tail === "zeros"
      ? new Uint8Array(100)
      : tail === "half_line"
      ? line.subarray(0, Math.ceil(line.length / 2))
      // Never a whole one: a copy of it would be a record of its own.
      : line.subarray(0, line.length - 1);
    await file.seek(0, Deno.SeekMode.End);
    for (let at = 0; at < torn.length;) at += await file.write(torn.subarray(at));
    return true;
  } finally {
    file.close();
  }
}
