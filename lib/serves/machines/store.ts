/**
 * Changes of this host on its disk: a folder per change, numbered in order, kept as its record.
 *
 *     changes/000007-promote/journal.jsonl     what was begun and done; appended and flushed
 *                            serves.json       the serves it was planned with
 *                            new.toml          the configuration to install, where there is one
 *                            old.toml          the one it replaced
 *
 * Only the newest can be unfinished: a change is begun only when every earlier one is over.
 *
 * @module
 */

import { z } from "zod";
import type { Json } from "../../core/canonical_json.ts";
import type { Directories } from "../../core/directories.ts";
import type { Files } from "../../core/files.ts";
import { hex } from "../../core/ids.ts";
import { decodeLines } from "../../core/json_lines.ts";
import { type Entry, recall } from "../../core/machine.ts";
import { type Refusal, refuse } from "../../core/refusal.ts";
import { sha256 } from "../../host/digest.ts";
import type { JournalOpened } from "../../host/journal.ts";
import { within } from "../../host/paths.ts";
import { type Serve, serveShape } from "../manifest_shape.ts";
import type { ConfigFiles, ConfigText } from "./ports.ts";
import { type Step, stepShape } from "./step.ts";
import { type Event, eventShape, type Kind, type State, TRANSACTION } from "./transaction.ts";

/** What a journal of a change holds. */
export type ChangeEntry = Entry<Event, Step>;

/** Opens a journal for appending; `lib/host` has the real one. */
export type OpenChangeJournal = (
  path: string,
  decode: (value: Json) => ChangeEntry | null,
) => Promise<JournalOpened<ChangeEntry>>;

/** What the store is made of. */
export interface StorePorts {
  /** The folder of the folders. */
  readonly root: string;
  readonly directories: Directories;
  readonly files: Files;
  readonly openJournal: OpenChangeJournal;
  /** Where `router.toml` is; null on a host without a router. */
  readonly routerConfig: string | null;
  /** Keeps a dated copy of the configuration that a change is about to replace. */
  readonly backup?: (text: string) => Promise<Refusal | null>;
}

/** A change and where it stands. */
export interface ChangeRecord {
  /** As `000007-promote`. */
  readonly id: string;
  readonly state: State;
  /** Every event so far with the step it ended; offers end none. */
  readonly course: readonly { readonly step: Step | null; readonly event: Event }[];
}

const entryShape = z.discriminatedUnion("kind", [
  z.strictObject({ kind: z.literal("offer"), event: eventShape }),
  z.strictObject({ kind: z.literal("intent"), effect: stepShape }),
  z.strictObject({ kind: z.literal("done"), event: eventShape }),
]);

function decode(value: Json): ChangeEntry | null {
  const read = entryShape.safeParse(value);
  return read.success ? read.data : null;
}

const NAME = /^\d{6}-[a-z]+$/;
const MOST_FOLDERS = 10_000;
const MOST_CONFIG_BYTES = 2 * 1024 * 1024;
const MOST_JOURNAL_BYTES = 64 * 1024 * 1024;
/** Changes that are over and still kept. */
const KEPT = 64;

const encoder = new TextEncoder();

/** The changes under one folder. */
export class ChangeStore {
  readonly #ports: StorePorts;

  constructor(ports: StorePorts) {
    this.#ports = ports;
  }

  /** Names of changes, oldest first. */
  async names(): Promise<readonly string[] | Refusal> {
    const list = await this.#ports.directories.list(this.#ports.root, MOST_FOLDERS);
    if (list.kind === "absent") return [];
    if (list.kind === "refused") return refuse(list.code, list.detail);
    return list.entries.filter(({ kind, name }) => kind === "directory" && NAME.test(name))
      .map(({ name }) => name).toSorted();
  }

  /** What the journal of `id` says. Looks only; a torn last line is not there. */
  async record(id: string): Promise<ChangeRecord | Refusal> {
    const read = await this.#ports.files.readBounded(this.#at(id, JOURNAL), MOST_JOURNAL_BYTES);
    if (read.kind === "refused") return read;
    if (read.kind === "absent") return { id, state: TRANSACTION.initial, course: [] };
    try {
      return recordOf(id, entriesOf(read.bytes));
    } catch {
      return refuse(
        "change_damaged",
        `the journal of ${id} is damaged`,
        "see what runs, then move the folder of that change aside",
      );
    }
  }

  /** The newest change that was really begun; null when there is none. */
  async newest(): Promise<ChangeRecord | null | Refusal> {
    const names = await this.names();
    if ("kind" in names) return names;
    for (const name of names.toReversed()) {
      const record = await this.record(name);
      if ("kind" in record || record.state.at !== "idle") return record;
    }
    return null;
  }

  /** Makes the folder of a change, with what it is made from. Nothing has begun yet. */
  async create(
    kind: Kind,
    serves: readonly Serve[],
    config: string | null,
  ): Promise<{ readonly kind: "created"; readonly id: string } | Refusal> {
    const names = await this.names();
    if ("kind" in names) return names;
    const number = Number(names.at(-1)?.slice(0, 6) ?? 0) + 1;
    const id = `${String(number).padStart(6, "0")}-${kind}`;
    const made = await this.#ports.directories.make(within(this.#ports.root, id));
    if (made.kind === "refused") return refuse(made.code, made.detail);
    const no = await this.#write(id, "serves.json", JSON.stringify(serves)) ??
      (config === null ? null : await this.#write(id, "new.toml", config));
    return no ?? { kind: "created", id };
  }

  /** The journal of `id`, for its one writer. */
  async open(id: string): Promise<JournalOpened<ChangeEntry>> {
    return await this.#ports.openJournal(this.#at(id, JOURNAL), decode);
  }

  /** The serves `id` was planned with. */
  async serves(id: string): Promise<readonly Serve[] | Refusal> {
    const read = await this.#ports.files.readBounded(this.#at(id, "serves.json"), 4 * 1024 * 1024);
    if (read.kind !== "ok") return damaged(id);
    try {
      const value = JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(read.bytes));
      const serves = z.array(serveShape).safeParse(value);
      return serves.success ? serves.data : damaged(id);
    } catch {
      return damaged(id);
    }
  }

  /** The configuration of the router, and the copies of `id`. */
  config(id: string): ConfigFiles {
    return {
      live: () => this.live(),
      write: (text) => this.write(text),
      kept: async (which) => {
        const read = await this.#read(this.#at(id, `${which}.toml`));
        return read.kind === "absent" ? null : read;
      },
      keep: async (which, text) =>
        await this.#ports.backup?.(text) ?? await this.#write(id, `${which}.toml`, text),
    };
  }

  /** What stands where the router reads its configuration. */
  async live(): Promise<ConfigText | Refusal> {
    const { routerConfig } = this.#ports;
    if (routerConfig === null) {
      return refuse("router_not_configured", "this agent knows no router.toml", "add `[router]`");
    }
    const read = await this.#read(routerConfig);
    return read.kind !== "absent" ? read : refuse(
      "config_absent",
      "there is no router.toml to change",
      "the first one is put there with the router itself",
    );
  }

  /** Replaces it. */
  async write(text: string): Promise<Refusal | null> {
    const { routerConfig, files } = this.#ports;
    if (routerConfig === null) return refuse("router_not_configured", "no router.toml is known");
    const done = await files.replaceFile(routerConfig, encoder.encode(text), 0o644);
    return done.kind === "ok" ? null : done;
  }

  /** Lets the oldest changes go. They are records: nothing depends on it. */
  async prune(): Promise<void> {
    const names = await this.names();
    if ("kind" in names) return;
    for (const name of names.slice(0, -KEPT)) {
      await this.#ports.directories.remove(within(this.#ports.root, name));
    }
  }

  async #read(path: string): Promise<ConfigText | { readonly kind: "absent" } | Refusal> {
    const read = await this.#ports.files.readBounded(path, MOST_CONFIG_BYTES);
    if (read.kind !== "ok") return read;
    try {
      const text = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(read.bytes);
      return { kind: "config", text, digest: hex(sha256(read.bytes)) };
    } catch {
      return refuse("not_utf8", "the configuration is not UTF-8 text");
    }
  }

  async #write(id: string, name: string, text: string): Promise<Refusal | null> {
    const done = await this.#ports.files.replaceFile(
      this.#at(id, name),
      encoder.encode(text),
      0o600,
    );
    return done.kind === "ok" ? null : done;
  }

  #at(id: string, name: string): string {
    return within(within(this.#ports.root, id), name);
  }
}

const JOURNAL = "journal.jsonl";

function damaged(id: string): Refusal {
  return refuse("change_damaged", `what ${id} was planned with is gone or damaged`);
}

function entriesOf(bytes: Uint8Array): readonly ChangeEntry[] {
  return decodeLines(bytes).values.map((value) => {
    const entry = decode(value);
    if (entry === null) throw new TypeError("not an entry of a change");
    return entry;
  });
}

/** What entries say of a change. */
export function recordOf(id: string, entries: readonly ChangeEntry[]): ChangeRecord {
  let begun: Step | null = null;
  const course = entries.flatMap((entry) => {
    if (entry.kind === "intent") {
      begun = entry.effect;
      return [];
    }
    const step: Step | null = entry.kind === "done" ? begun : null;
    return [{ step, event: entry.event }];
  });
  return { id, state: recall(TRANSACTION, entries).state, course };
}
