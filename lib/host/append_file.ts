/**
 * A file that only grows: lines are appended at once, flushed when asked, and read from its end.
 *
 * @module
 */

import { type Refusal, refuse } from "../core/refusal.ts";
import { causeOf } from "./os_error.ts";

/** What opening gave. */
export type AppendOpened =
  | { readonly kind: "open"; readonly file: AppendFile }
  | { readonly kind: "busy" }
  | (Refusal<"append_file_unavailable"> & { readonly cause: string });

const NEWLINE = 0x0a;

/** Opens or creates the file at `path`, mode 0600, for one writer. */
export async function openAppendFile(path: string): Promise<AppendOpened> {
  let file: Deno.FsFile | null = null;
  try {
    file = await Deno.open(path, { read: true, append: true, create: true, mode: 0o600 });
    if (!await file.tryLock(true)) {
      file.close();
      return { kind: "busy" };
    }
    return { kind: "open", file: new AppendFile(file) };
  } catch (error) {
    file?.close();
    const refusal = refuse("append_file_unavailable", "the file cannot be opened or created");
    return { ...refusal, cause: causeOf(error) };
  }
}

/** Makes a fresh file at `path` in place of one that was moved away; null when that cannot be. */
export function reopenAppendFile(path: string): AppendFile | null {
  let file: Deno.FsFile | null = null;
  try {
    file = Deno.openSync(path, { read: true, append: true, createNew: true, mode: 0o600 });
    if (file.tryLockSync(true)) return new AppendFile(file);
  } catch {
    // The caller goes on with the file it has.
  }
  file?.close();
  return null;
}

/** The whole lines in the last `mostBytes` bytes of a file that nobody writes any more. */
export function tailOf(path: string, mostBytes: number): readonly string[] {
  using file = new AppendFile(Deno.openSync(path, { read: true }));
  return file.tail(mostBytes).lines;
}

/** An open file, ours until it is closed. */
export class AppendFile implements Disposable {
  readonly #file: Deno.FsFile;
  #open = true;

  constructor(file: Deno.FsFile) {
    this.#file = file;
  }

  /**
   * Appends `line` and a newline; on the disk when it returns if `flush`. Synchronous: lines stand
   * in the order of the calls. Throws when the disk refuses, and leaves no half of the line then.
   */
  append(line: string, flush: boolean): void {
    const bytes = new TextEncoder().encode(`${line}\n`);
    const before = this.#file.statSync().size;
    try {
      for (let at = 0; at < bytes.length;) at += this.#file.writeSync(bytes.subarray(at));
      if (flush) this.#file.syncDataSync();
    } catch (error) {
      this.#file.truncateSync(before);
      throw error;
    }
  }

  /** Everything so far is on the disk when this returns. Throws when the disk refuses. */
  flush(): void {
    this.#file.syncDataSync();
  }

  /** In bytes. */
  get size(): number {
    return this.#file.statSync().size;
  }

  /** The first line, if it is whole and has at most `mostBytes` bytes. */
  first(mostBytes: number): string | null {
    const bytes = new Uint8Array(Math.min(this.size, mostBytes));
    this.#file.seekSync(0, Deno.SeekMode.Start);
    let length = 0;
    while (length < bytes.length) {
      const read = this.#file.readSync(bytes.subarray(length));
      if (read === null) break;
      length += read;
    }
    const end = bytes.subarray(0, length).indexOf(NEWLINE);
    return end === -1 ? null : new TextDecoder().decode(bytes.subarray(0, end));
  }

  /** The whole lines in the last `mostBytes` bytes; `torn` when bytes without a newline follow. */
  tail(mostBytes: number): { readonly lines: readonly string[]; readonly torn: boolean } {
    const { size } = this.#file.statSync();
    const start = Math.max(0, size - mostBytes);
    const bytes = new Uint8Array(size - start);
    this.#file.seekSync(start, Deno.SeekMode.Start);
    let length = 0;
    while (length < bytes.length) {
      const read = this.#file.readSync(bytes.subarray(length));
      if (read === null) break;
      length += read;
    }
    const last = bytes.lastIndexOf(NEWLINE, length - 1);
    const first = start === 0 ? 0 : bytes.indexOf(NEWLINE) + 1;
    const text = new TextDecoder().decode(bytes.subarray(first, Math.max(first, last + 1)));
    return { lines: text.split("\n").slice(0, -1), torn: length > 0 && last !== length - 1 };
  }

  /** Cuts bytes behind the last newline: what a crash left of a line nobody acted upon. */
  cutTorn(mostBytes: number): void {
    const { size } = this.#file.statSync();
    const { lines, torn } = this.tail(mostBytes);
    if (!torn) return;
    const start = Math.max(0, size - mostBytes);
    if (lines.length === 0 && start > 0) throw new Error("the last line is too long to be one");
    const bytes = new Uint8Array(size - start);
    this.#file.seekSync(start, Deno.SeekMode.Start);
    for (let at = 0; at < bytes.length;) {
      const read = this.#file.readSync(bytes.subarray(at));
      if (read === null) break;
      at += read;
    }
    this.#file.truncateSync(start + bytes.lastIndexOf(NEWLINE) + 1);
    this.#file.syncDataSync();
  }

  close(): void {
    if (this.#open) this.#file.close();
    this.#open = false;
  }

  [Symbol.dispose](): void {
    this.close();
  }
}

/** Each line of a file without its newline, read in pieces; the last is `torn` without one. */
export async function* fileLines(
  path: string,
): AsyncGenerator<{ readonly text: string; readonly torn: boolean }> {
  using file = await Deno.open(path, { read: true });
  const decoder = new TextDecoder();
  const piece = new Uint8Array(64 * 1024);
  let held = "";
  for (;;) {
    const read = await file.read(piece);
    if (read === null) break;
    const lines = (held + decoder.decode(piece.subarray(0, read), { stream: true })).split("\n");
    held = lines.pop() ?? "";
    for (const text of lines) yield { text, torn: false };
  }
  held += decoder.decode();
  if (held !== "") yield { text: held, torn: true };
}
