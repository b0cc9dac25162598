/**
 * Benchmarks of this host on its disk: a folder each, numbered in order.
 *
 *     benchmarks/bench-000007/journal.jsonl    what was asked and how it ended; flushed line by line
 *                             evidence.json    the document, once it is concluded
 *                             records.jsonl    the answers it was made of
 *
 * @module
 */

import type { Json } from "../../../lib/core/canonical_json.ts";
import type { Directories } from "../../../lib/core/directories.ts";
import type { Files } from "../../../lib/core/files.ts";
import { decodeLines } from "../../../lib/core/json_lines.ts";
import { type Refusal, refuse } from "../../../lib/core/refusal.ts";
import {
  type BenchmarkEvent,
  type BenchmarkState,
  eventOf,
  foldBenchmark,
} from "../../../lib/benchmark/run_state.ts";
import type { Conclusion } from "../../../lib/benchmark/conclude.ts";
import { MOST_EVIDENCE_BYTES } from "../../../lib/evidence/evidence_shape.ts";
import { MOST_RECORDS_BYTES } from "../../../lib/evidence/record.ts";
import type { JournalOpened } from "../../../lib/host/journal.ts";
import { within } from "../../../lib/host/paths.ts";

/** Opens a journal for appending; `lib/host` has the real one. */
export type OpenBenchmarkJournal = (
  path: string,
  decode: (value: Json) => BenchmarkEvent | null,
) => Promise<JournalOpened<BenchmarkEvent>>;

/** What the store is made of. */
export interface BenchmarkStorePorts {
  /** The folder of the folders. */
  readonly root: string;
  readonly directories: Directories;
  readonly files: Files;
  readonly openJournal: OpenBenchmarkJournal;
}

const NAME = /^bench-\d{6}$/;
const MOST_FOLDERS = 10_000;
const MOST_JOURNAL_BYTES = 64 * 1024 * 1024;
/** Benchmarks that are kept; beyond them the oldest goes, with its evidence. */
const KEPT = 256;

const JOURNAL = "journal.jsonl";
const EVIDENCE = "evidence.json";
const RECORDS = "records.jsonl";

/** The benchmarks under one folder. */
export class BenchmarkStore {
  readonly #ports: BenchmarkStorePorts;

  constructor(ports: BenchmarkStorePorts) {
    this.#ports = ports;
  }

  /** Ids, oldest first. */
  async ids(): Promise<readonly string[] | Refusal> {
    const list = await this.#ports.directories.list(this.#ports.root, MOST_FOLDERS);
    if (list.kind === "absent") return [];
    if (list.kind === "refused") return refuse(list.code, list.detail);
    return list.entries.filter(({ kind, name }) => kind === "directory" && NAME.test(name))
      .map(({ name }) => name).toSorted();
  }

  /** Makes the folder of the next one. */
  async create(): Promise<{ readonly id: string } | Refusal> {
    const ids = await this.ids();
    if ("kind" in ids) return ids;
    const number = Number(ids.at(-1)?.slice(-6) ?? 0) + 1;
    const id = `bench-${String(number).padStart(6, "0")}`;
    const made = await this.#ports.directories.make(within(this.#ports.root, id));
    return made.kind === "refused" ? refuse(made.code, made.detail) : { id };
  }

  /** What the journal of `id` says; a torn last line is not there. Null when nothing has begun. */
  async state(id: string): Promise<BenchmarkState | null | Refusal> {
    const path = this.#at(id, JOURNAL);
    const read = await this.#ports.files.readBounded(path, MOST_JOURNAL_BYTES);
    if (read.kind === "refused") return refuse(read.code, read.detail);
    if (read.kind === "absent") return null;
    try {
      return foldBenchmark(
        decodeLines(read.bytes).values.map((value) => {
          const event = eventOf(value);
          if (event === null) throw new TypeError("not an event of a benchmark");
          return event;
        }),
      );
    } catch {
      return refuse(
        "benchmark_damaged",
        `the journal of ${id} is damaged`,
        "move the folder of that benchmark aside; measure anew",
      );
    }
  }

  /** The journal of `id`, for its one writer. */
  async open(id: string): Promise<JournalOpened<BenchmarkEvent>> {
    return await this.#ports.openJournal(this.#at(id, JOURNAL), eventOf);
  }

  /** Keeps what a benchmark concluded to. The document comes last: with it all is there. */
  async keep(id: string, { evidence, records }: Conclusion): Promise<Refusal | null> {
    const { files } = this.#ports;
    if (records !== null) {
      const kept = await files.replaceFile(this.#at(id, RECORDS), records, 0o600);
      if (kept.kind === "refused") return refuse(kept.code, kept.detail);
    }
    const kept = await files.replaceFile(this.#at(id, EVIDENCE), evidence.bytes, 0o600);
    return kept.kind === "refused" ? refuse(kept.code, kept.detail) : null;
  }

  /** The document of `id` as bytes; null when there is none. */
  evidence(id: string): Promise<Uint8Array<ArrayBuffer> | null | Refusal> {
    return this.#bytes(id, EVIDENCE, MOST_EVIDENCE_BYTES);
  }

  /** The records of `id` as bytes; null when there are none. */
  records(id: string): Promise<Uint8Array<ArrayBuffer> | null | Refusal> {
    return this.#bytes(id, RECORDS, MOST_RECORDS_BYTES);
  }

  /** Lets the oldest go, which nobody works on: the caller holds the lock. */
  async prune(): Promise<void> {
    const ids = await this.ids();
    if ("kind" in ids) return;
    for (const id of ids.slice(0, -KEPT)) {
      await this.#ports.directories.remove(within(this.#ports.root, id));
    }
  }

  async #bytes(
    id: string,
    name: string,
    most: number,
  ): Promise<Uint8Array<ArrayBuffer> | null | Refusal> {
    const read = await this.#ports.files.readBounded(this.#at(id, name), most);
    if (read.kind === "absent") return null;
    return read.kind === "refused" ? refuse(read.code, read.detail) : read.bytes;
  }

  #at(id: string, name: string): string {
    if (!NAME.test(id)) throw new TypeError("not the id of a benchmark");
    return within(within(this.#ports.root, id), name);
  }
}
