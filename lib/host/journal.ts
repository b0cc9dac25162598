/**
 * The journal port as a file of JSON lines, locked for one writer, flushed at each append.
 *
 *     open ──lock──> read whole lines ──> append: cut what is torn, write the line, flush
 *
 * @module
 */

import { dirname } from "node:path";
import type { Json } from "../core/canonical_json.ts";
import type { Journal } from "../core/journal.ts";
import { CorruptLine, decodeLines, encodeLine } from "../core/json_lines.ts";
import { type Refusal, refuse } from "../core/refusal.ts";
import { syncDirectory, writeAll } from "./files.ts";
import { causeOf } from "./os_error.ts";

/** A journal that holds its file until it is closed. */
export type OpenJournal<Entry extends Json> = Journal<Entry> & AsyncDisposable & {
  close(): Promise<void>;
};

/** What opening gave. */
export type JournalOpened<Entry extends Json> =
  | { readonly kind: "open"; readonly journal: OpenJournal<Entry> }
  /** Another process, or another part of this one, has it open. */
  | { readonly kind: "busy" }
  | (Refusal<"journal_unavailable"> & { readonly cause: string });

/** A journal is read whole: one larger than this, in bytes, is refused by `read`. */
const MOST_BYTES = 64 * 1024 * 1024;

/**
 * Opens or creates the journal at `path`, mode 0600. `decode` gives null for a value that is no
 * entry. `read` and `append` throw {@link CorruptLine} for a damaged line before the last, and
 * `append` rejects when the disk refuses: the entry then is not in the journal, unless a flush
 * failed, after which nobody knows and every later `append` rejects until the journal is reopened.
 */
export async function openJournal<Entry extends Json>(
  path: string,
  decode: (value: Json) => Entry | null,
): Promise<JournalOpened<Entry>> {
  let file: Deno.FsFile | null = null;
  try {
    file = await Deno.open(path, { read: true, write: true, create: true, mode: 0o600 });
    // On the journal itself, not on a file beside it: it is never renamed, so one name will do.
    if (!await file.tryLock(true)) {
      file.close();
      return { kind: "busy" };
    }
    await syncDirectory(dirname(path));
    return { kind: "open", journal: new FileJournal(file, decode) };
  } catch (error) {
    file?.close();
    const refusal = refuse("journal_unavailable", "the journal cannot be opened or created");
    return { ...refusal, cause: causeOf(error) };
  }
}

class FileJournal<Entry extends Json> implements OpenJournal<Entry> {
  readonly #file: Deno.FsFile;
  readonly #decode: (value: Json) => Entry | null;
  /** Calls run one after the other: the file has one position. */
  #turn: Promise<unknown> = Promise.resolve();
  /** Where the next line goes; null until the file was read, or after a write that failed. */
  #end: number | null = null;
  #unknown: string | null = null;
  #open = true;

  constructor(file: Deno.FsFile, decode: (value: Json) => Entry | null) {
    this.#file = file;
    this.#decode = decode;
  }

  read(): Promise<readonly Entry[]> {
    return this.#inTurn(async () => (await this.#load()).entries);
  }

  append(entry: Entry): Promise<void> {
    const line = new TextEncoder().encode(encodeLine(entry));
    return this.#inTurn(() => this.#write(line));
  }

  close(): Promise<void> {
    return this.#inTurn(() => {
      if (this.#open) this.#file.close();
      this.#open = false;
      return Promise.resolve();
    });
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  #inTurn<T>(act: () => Promise<T>): Promise<T> {
    const result = this.#turn.then(act);
    this.#turn = result.catch(() => {});
    return result;
  }

  async #write(line: Uint8Array): Promise<void> {
    if (this.#unknown !== null) {
      throw new Error(`the journal must be reopened: an earlier flush failed (${this.#unknown})`);
    }
    const end = this.#end ?? (await this.#load()).end;
    this.#end = null;
    await this.#file.truncate(end); // what is torn would be glued to this line
    await this.#file.seek(end, Deno.SeekMode.Start);
    await writeAll(this.#file, line);
    try {
      await this.#file.sync();
    } catch (error) {
      this.#unknown = causeOf(error);
      throw error;
    }
    this.#end = end + line.length;
  }

  async #load(): Promise<{ readonly entries: readonly Entry[]; readonly end: number }> {
    const { size } = await this.#file.stat();
    if (size > MOST_BYTES) {
      throw new Error(`the journal holds ${size} bytes, expected at most ${MOST_BYTES}`);
    }
    await this.#file.seek(0, Deno.SeekMode.Start);
    const bytes = new Uint8Array(size);
    let length = 0;
    while (length < size) {
      const read = await this.#file.read(bytes.subarray(length));
      if (read === null) break;
      length += read;
    }
    const { values, wholeBytes } = decodeLines(bytes.subarray(0, length));
    const entries = values.map((value, index) => {
      const entry = this.#decode(value);
      if (entry === null) throw new CorruptLine(index + 1, "not an entry of this journal");
      return entry;
    });
    this.#end = wholeBytes;
    return { entries, end: wholeBytes };
  }
}
