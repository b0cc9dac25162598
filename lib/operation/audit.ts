/**
 * The audit: opened before acting, or nobody acts. One file of chained JSON lines, one writer.
 *
 * @module
 */

import { canonicalJson, type Json } from "../core/canonical_json.ts";
import { type Clock, timestamp } from "../core/clock.ts";
import { type Refusal, refuse } from "../core/refusal.ts";
import { type AppendFile, fileLines, openAppendFile } from "../host/append_file.ts";
import {
  type AuditEvent,
  chain,
  CHAIN_START,
  type ChainBreak,
  ChainCheck,
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
export async function openAudit(path: string, clock: Clock): Promise<AuditOpened> {
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
    const last = file.tail(MOST_RECORD_BYTES).lines.at(-1);
    const end = last === undefined ? { seq: 0, hash: CHAIN_START } : endOf(last);
    if (end !== null) return { kind: "open", audit: new Audit(file, clock, end) };
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
  readonly #file: AppendFile;
  readonly #clock: Clock;
  #end: ChainEnd;

  constructor(file: AppendFile, clock: Clock, end: ChainEnd) {
    this.#file = file;
    this.#clock = clock;
    this.#end = end;
  }

  /** Appends a record; with `flush` it is on the disk when this returns. Throws when it is not. */
  append(event: AuditEvent, flush: boolean): void {
    const { seq, hash } = this.#end;
    const record = chain(event, seq + 1, timestamp(this.#clock.now()), hash);
    this.#file.append(canonicalJson(record), flush);
    this.#end = { seq: record.seq, hash: record.hash };
  }

  /** The newest records, oldest first. */
  tail(most: number): readonly Json[] {
    return this.#file.tail(MOST_TAIL_BYTES).lines.slice(-most).map((line) => JSON.parse(line));
  }

  close(): void {
    this.#file.close();
  }
}

/** What looking at a whole file gave. */
export type AuditVerdict =
  | { readonly kind: "whole"; readonly records: number; readonly hash: string }
  | ({ readonly kind: "broken" } & ChainBreak);

/** Reads the audit at `path` from its first line to the first break. Rejects when it cannot be read. */
export async function verifyAudit(path: string): Promise<AuditVerdict> {
  const check = new ChainCheck();
  for await (const { text, torn } of fileLines(path)) {
    const found = torn ? check.torn() : check.take(text);
    if (found !== null) return { kind: "broken", ...found };
  }
  return { kind: "whole", records: check.end.seq, hash: check.end.hash };
}
