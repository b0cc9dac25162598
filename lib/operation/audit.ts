/**
 * The audit: opened before acting, or nobody acts. Chained JSON lines in files of a bounded size, one
 * writer; the chain goes on from file to file.
 *
 * @module
 */

import { canonicalJson, type Json } from "../core/canonical_json.ts";
import { type Clock, timestamp } from "../core/clock.ts";
import { type Refusal, refuse } from "../core/refusal.ts";
import { type AppendFile, openAppendFile, tailOf } from "../host/append_file.ts";
import { AUDIT_BOUNDS, type AuditBounds, fullFiles, letGo, rotate } from "./audit_files.ts";
import {
  type AuditEvent,
  chain,
  CHAIN_START,
  type ChainEnd,
  hashOf,
  recordOf,
} from "./audit_record.ts";

/** What opening gave. */
export type AuditOpened =
  | { readonly kind: "open"; readonly audit: Audit }
  | Refusal<"audit_unavailable" | "audit_damaged" | "state_in_use">;

/** Longer than any record. */
const MOST_RECORD_BYTES = 64 * 1024;
/** What is read from the end at most, for the newest records. */
const MOST_TAIL_BYTES = 1024 * 1024;

/** Opens the audit at `path` behind its last record. A half record at the end is cut off. */
export async function openAudit(
  path: string,
  clock: Clock,
  bounds: AuditBounds = AUDIT_BOUNDS,
): Promise<AuditOpened> {
  const opened = await openAppendFile(path);
  if (opened.kind === "busy") {
    return refuse("state_in_use", "another process writes this audit", "stop the other agent");
  }
  if (opened.kind === "refused") {
    return refuse("audit_unavailable", "the audit cannot be opened", "see that its folder is ours");
  }
  const { file } = opened;
  try {
    file.cutTorn(MOST_RECORD_BYTES);
    const newestFull = fullFiles(path).at(-1);
    // A fresh live file goes on where the newest full one ends.
    const last = file.tail(MOST_RECORD_BYTES).lines.at(-1) ??
      (newestFull === undefined ? undefined : tailOf(newestFull, MOST_RECORD_BYTES).at(-1) ?? "");
    const end = last === undefined ? { seq: 0, hash: CHAIN_START } : endOf(last);
    const head = recordOf(file.first(MOST_RECORD_BYTES) ?? "");
    const first = head === null ? null : Number(head["seq"]);
    if (end !== null) {
      return { kind: "open", audit: new Audit(path, file, clock, bounds, { end, first }) };
    }
  } catch {
    // Told below.
  }
  file.close();
  return refuse(
    "audit_damaged",
    "the last record of the audit is not one",
    "run `anvil-agent audit verify`, move the file aside, start again",
  );
}

function endOf(line: string): ChainEnd | null {
  const record = recordOf(line);
  if (record === null || hashOf(record) !== record["hash"]) return null;
  return { seq: Number(record["seq"]), hash: String(record["hash"]) };
}

/** An open audit. */
export class Audit {
  readonly #path: string;
  readonly #clock: Clock;
  readonly #bounds: AuditBounds;
  #file: AppendFile;
  #end: ChainEnd;
  /** Seq of the first record in the live file; null while it has none. */
  #first: number | null;
  /** The live file is moved away when it has as many bytes. */
  #fullAt: number;

  constructor(
    path: string,
    file: AppendFile,
    clock: Clock,
    bounds: AuditBounds,
    { end, first }: { readonly end: ChainEnd; readonly first: number | null },
  ) {
    this.#path = path;
    this.#file = file;
    this.#clock = clock;
    this.#bounds = bounds;
    this.#end = end;
    this.#first = first;
    this.#fullAt = bounds.fileBytes;
  }

  /** Appends a record; with `flush` it is on the disk when this returns. Throws when it is not. */
  append(event: AuditEvent, flush: boolean): void {
    this.#rotateIfFull();
    this.#write(event, flush);
  }

  /** The newest records, oldest first; of `actions` only, where they are given. */
  tail(most: number, actions: readonly string[] | null = null): readonly Json[] {
    // A line that is no record is told of whatever is asked for.
    const read = (lines: readonly string[]) =>
      lines.map((line) => recordOf(line) ?? { action: null, code: "audit_line_malformed" })
        .filter(({ action }) =>
          actions === null || action === null || actions.includes(String(action))
        );
    const records = read(this.#file.tail(MOST_TAIL_BYTES).lines);
    for (const full of fullFiles(this.#path).toReversed()) {
      if (records.length >= most) break;
      records.unshift(...read(tailOf(full, MOST_TAIL_BYTES)));
    }
    return records.slice(-most).map((one) =>
      one["action"] === null ? { code: "audit_line_malformed" } : one
    );
  }

  /** Starts of live mutations among the newest records that have no end, oldest first. */
  openStarts(): readonly AuditEvent[] {
    const open = new Map<string, AuditEvent>();
    for (const line of this.#file.tail(MOST_TAIL_BYTES).lines) {
      const record = recordOf(line);
      if (record === null) continue;
      const { seq: _seq, at: _at, prev: _prev, hash: _hash, ...rest } = record;
      const event = rest as unknown as AuditEvent; // of a file that we alone write
      if (event.phase === "start" && event.action === "apply") open.set(event.call, event);
      else if (event.phase === "end") open.delete(event.call);
    }
    return [...open.values()];
  }

  close(): void {
    this.#file.close();
  }

  #write(event: AuditEvent, flush: boolean): void {
    const { seq, hash } = this.#end;
    const record = chain(event, seq + 1, timestamp(this.#clock.now()), hash);
    this.#file.append(canonicalJson(record), flush);
    this.#end = { seq: record.seq, hash: record.hash };
    this.#first ??= record.seq;
  }

  #rotateIfFull(): void {
    if (this.#first === null || this.#file.size < this.#fullAt) return;
    this.#file.flush();
    const fresh = rotate(this.#path, this.#first);
    if (fresh === null) {
      this.#fullAt += this.#bounds.fileBytes; // tried again much later, not at every record
      return;
    }
    this.#file.close();
    this.#file = fresh;
    this.#first = null;
    this.#fullAt = this.#bounds.fileBytes;
    this.#prune();
  }

  /** On record before it is gone: whoever removes a file by hand leaves no such record. */
  #prune(): void {
    for (const oldest of fullFiles(this.#path).slice(0, -this.#bounds.files)) {
      const last = recordOf(tailOf(oldest, MOST_RECORD_BYTES).at(-1) ?? "");
      this.#write({
        phase: "pruned",
        call: "audit",
        principal: "agent",
        operation: "audit.prune",
        action: "apply",
        key: null,
        target_digest: last === null ? null : String(last["hash"]),
        dry_run: false,
        outcome: "done",
        code: null,
        duration_ms: null,
      }, true);
      letGo(oldest);
    }
  }
}
