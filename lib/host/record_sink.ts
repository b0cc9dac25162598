/**
 * The record sink as a file of JSON lines that rotates by size.
 *
 *     write ──queue──> batch ──> append ──full?──> name.2, name.1 <── name
 *               │                  │ the disk says no
 *               └─ full: lost      └─> stays queued, tried again later; `flush` gives up on it
 *
 * @module
 */

import type { Json } from "../core/canonical_json.ts";
import { maskText } from "../core/mask.ts";
import type { RecordSink } from "../core/record_sink.ts";
import { writeAll } from "./files.ts";
import { causeOf, isAbsent } from "./os_error.ts";

/** Where records go and how much of them is kept. */
export interface RecordFileOptions {
  readonly path: string;
  /** A file is not appended to beyond this many bytes, unless one batch alone is larger. */
  readonly maxFileBytes: number;
  /** How many full files are kept besides the current one: `path.1` is the youngest. */
  readonly keep: number;
  /** The most records waiting for the disk; further ones are lost. Default 10000. */
  readonly maxQueued?: number;
  /** How long a failing disk is left alone, in milliseconds. Default 1000. */
  readonly retryMs?: number;
  /** Told once when the disk starts to fail and once (null) when it recovers. */
  readonly onTrouble?: (cause: string | null) => void;
}

/** A sink that holds a file until it is closed. */
export interface RecordFile extends RecordSink, AsyncDisposable {
  /** Flushes and lets go of the file. Records written afterwards are lost, and counted. */
  close(): Promise<void>;
}

/** At most this many lines go into one append: bounds the memory and what one failure takes along. */
const BATCH = 512;

/** How long records are gathered for one append, in milliseconds: what a kill can lose of them. */
const GATHER_MS = 20;

const NEWLINE = Uint8Array.of(0x0a);
const encoder = new TextEncoder();

/** A sink that appends to `options.path`. Nothing is opened before the first record. */
export function openRecordFile(options: RecordFileOptions): RecordFile {
  return new RotatingFile(options);
}

class RotatingFile implements RecordFile {
  lost = 0;
  readonly #options: RecordFileOptions;
  readonly #maxQueued: number;
  readonly #queue: string[] = [];
  #file: Deno.FsFile | null = null;
  /** The last append may have ended inside a line. */
  #torn = false;
  #working: Promise<void> | null = null;
  #retry: ReturnType<typeof setTimeout> | null = null;
  #failing = false;
  /** Somebody waits for the disk. */
  #hurried = false;
  #hurry: () => void = () => {};
  #closed = false;

  constructor(options: RecordFileOptions) {
    this.#options = options;
    this.#maxQueued = options.maxQueued ?? 10_000;
  }

  write(record: Json): void {
    if (this.#closed || this.#queue.length >= this.#maxQueued) {
      this.lost++;
      return;
    }
    try {
      this.#queue.push(`${maskText(JSON.stringify(record))}\n`);
    } catch {
      this.lost++; // what JSON cannot hold is a bug, but not one worth a request
      return;
    }
    if (this.#retry === null) this.#start();
  }

  async flush(): Promise<void> {
    this.#stopWaiting();
    this.#hurried = true;
    this.#hurry();
    this.#start();
    await this.#working;
    this.#hurried = false;
    if (this.#failing) {
      this.lost += this.#queue.length;
      this.#queue.length = 0;
      this.#stopWaiting();
    }
  }

  async close(): Promise<void> {
    this.#closed = true;
    await this.flush();
    this.#drop();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  #start(): void {
    this.#working ??= this.#work();
  }

  async #work(): Promise<void> {
    while (this.#queue.length > 0) {
      // An append costs several trips to another thread: the records of a moment go in one.
      if (!this.#hurried) await this.#gather();
      try {
        const batch = this.#queue.slice(0, BATCH);
        await this.#append(encoder.encode(batch.join("")), batch.length);
      } catch (error) {
        this.#rest(causeOf(error));
        break;
      }
      if (this.#failing) this.#options.onTrouble?.(null);
      this.#failing = false;
    }
    // In the same turn as the last look at the queue, or a record written in between would lie there.
    this.#working = null;
  }

  #gather(): Promise<void> {
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, GATHER_MS);
      this.#hurry = () => {
        clearTimeout(timer);
        resolve();
      };
    });
  }

  /** The disk said no: leave it alone for a while. */
  #rest(cause: string): void {
    this.#drop();
    if (!this.#failing) this.#options.onTrouble?.(cause);
    this.#failing = true;
    if (this.#closed) return;
    this.#retry = setTimeout(() => {
      this.#retry = null;
      this.#start();
    }, this.#options.retryMs ?? 1000);
    Deno.unrefTimer(this.#retry); // never what keeps a process alive
  }

  #stopWaiting(): void {
    if (this.#retry !== null) clearTimeout(this.#retry);
    this.#retry = null;
  }

  /** Takes each line off the queue once it is written whole: a half batch is not written twice. */
  async #append(bytes: Uint8Array, lines: number): Promise<void> {
    let file = await this.#current();
    const { size } = await file.stat();
    if (size > 0 && size + bytes.length > this.#options.maxFileBytes) {
      await this.#turnOver(file, bytes.length);
      file = await this.#current();
    }
    if (this.#torn) await writeAll(file, NEWLINE);
    this.#torn = false;
    for (let written = 0; written < bytes.length;) {
      const took = await file.write(bytes.subarray(written));
      const whole = took === bytes.length
        ? lines
        : wholeLines(bytes.subarray(written, written + took));
      this.#queue.splice(0, whole);
      written += took;
    }
  }

  /**
   * Rotates, unless another process that appends to the same path has just done so. The lock is on
   * the file that is full: whoever waits for it finds that the path names another file by then.
   */
  async #turnOver(file: Deno.FsFile, more: number): Promise<void> {
    await file.lock(true);
    try {
      const [named, own] = [
        await Deno.stat(this.#options.path).catch(() => null),
        await file.stat(),
      ];
      const full = own.size + more > this.#options.maxFileBytes;
      if (named !== null && named.ino === own.ino && full) await this.#rotate();
    } finally {
      this.#drop();
    }
  }

  /** The open file; opened again when somebody moved or removed it. */
  async #current(): Promise<Deno.FsFile> {
    const { path } = this.#options;
    if (this.#file !== null) {
      const named = await Deno.stat(path).catch(() => null);
      if (named !== null && named.ino === (await this.#file.stat()).ino) return this.#file;
      this.#drop();
    }
    const file = await Deno.open(path, { read: true, append: true, create: true, mode: 0o600 });
    this.#file = file;
    this.#torn = await endsInsideLine(file);
    return file;
  }

  #drop(): void {
    this.#file?.close();
    this.#file = null;
  }

  async #rotate(): Promise<void> {
    const { path, keep } = this.#options;
    if (keep === 0) return await Deno.remove(path);
    for (let number = keep - 1; number >= 0; number--) {
      const from = number === 0 ? path : `${path}.${number}`;
      try {
        await Deno.rename(from, `${path}.${number + 1}`);
      } catch (error) {
        if (!isAbsent(error)) throw error;
      }
    }
  }
}

async function endsInsideLine(file: Deno.FsFile): Promise<boolean> {
  const { size, isFile } = await file.stat();
  if (!isFile || size === 0) return false;
  await file.seek(size - 1, Deno.SeekMode.Start);
  const last = new Uint8Array(1);
  await file.read(last);
  return last[0] !== 0x0a;
}

function wholeLines(bytes: Uint8Array): number {
  let lines = 0;
  for (const byte of bytes) if (byte === 0x0a) lines++;
  return lines;
}
