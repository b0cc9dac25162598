/**
 * The audit's records: one before acting, one after, each bound to the one before it by a hash.
 * No inputs, no results, no secrets: a digest of the input says whether two were the same.
 *
 * @module
 */

import { canonicalJson, type Json } from "../core/canonical_json.ts";
import { hex } from "../core/ids.ts";
import { sha256 } from "../host/digest.ts";
import type { Action } from "./authorize.ts";

/** What happened, before it is chained. */
export interface AuditEvent {
  readonly [key: string]: Json;
  /**
   * `refused` stands alone: nothing was begun. `pruned` says that the oldest file was let go; its
   * `target_digest` is the hash of the last record in it.
   */
  readonly phase: "start" | "end" | "refused" | "pruned";
  /** Pairs a start with its end. */
  readonly call: string;
  readonly principal: string;
  readonly operation: string;
  readonly action: Action;
  /** Idempotency key; null for what needs none. */
  readonly key: string | null;
  /** SHA-256 of the canonical input; null where it was never read. */
  readonly target_digest: string | null;
  readonly dry_run: boolean;
  /** null at the start. */
  readonly outcome: "done" | "refused" | "failed" | "known" | null;
  readonly code: string | null;
  readonly duration_ms: number | null;
}

/** A record in the file: an event, its place, and the hash of all that. */
export type AuditRecord = AuditEvent & {
  readonly seq: number;
  readonly at: string;
  /** `hash` of the record before; 64 zeros for the first. */
  readonly prev: string;
  readonly hash: string;
};

/** What the first record is chained to. */
export const CHAIN_START = "0".repeat(64);

/** The record of `event` behind `prev`. */
export function chain(event: AuditEvent, seq: number, at: string, prev: string): AuditRecord {
  const unsealed = { ...event, seq, at, prev };
  return { ...unsealed, hash: hashOf(unsealed) };
}

/** The hash a record must carry, from everything else in it. */
export function hashOf(record: { readonly [key: string]: Json }): string {
  const { hash: _hash, ...rest } = record;
  return hex(sha256(canonicalJson(rest)));
}

/** Where a chain stands. */
export interface ChainEnd {
  readonly seq: number;
  readonly hash: string;
}

/** Where and how a chain breaks. */
export interface ChainBreak {
  /** 1-based. */
  readonly line: number;
  readonly code:
    | "audit_line_malformed" // not a record
    | "audit_record_changed" // its hash is not that of its content
    | "audit_chain_broken" // records are missing, added or in another order
    | "audit_line_torn"; // the last line has no end: a write was cut short
}

/** Checks lines one after the other. */
export class ChainCheck {
  #line = 0;
  #end: ChainEnd = { seq: 0, hash: CHAIN_START };

  /** Begins behind records that are not there any more. */
  static behind(end: ChainEnd): ChainCheck {
    const check = new ChainCheck();
    check.#end = end;
    return check;
  }

  /** The same chain in the next file: lines are counted anew. */
  nextFile(): void {
    this.#line = 0;
  }

  /** Where the chain stands after the lines so far. */
  get end(): ChainEnd {
    return this.#end;
  }

  /** Takes one line without its newline; what is wrong with it, or null. */
  take(text: string): ChainBreak | null {
    this.#line++;
    const record = recordOf(text);
    if (record === null) return this.#broken("audit_line_malformed");
    if (hashOf(record) !== record["hash"]) return this.#broken("audit_record_changed");
    if (record["prev"] !== this.#end.hash || record["seq"] !== this.#end.seq + 1) {
      return this.#broken("audit_chain_broken");
    }
    this.#end = { seq: Number(record["seq"]), hash: String(record["hash"]) };
    return null;
  }

  /** The break of a last line that has no newline. */
  torn(): ChainBreak {
    return { line: this.#line + 1, code: "audit_line_torn" };
  }

  #broken(code: ChainBreak["code"]): ChainBreak {
    return { line: this.#line, code };
  }
}

/** A line as an object, if it is spelled as it is written: else nobody wrote it so. */
export function recordOf(text: string): { readonly [key: string]: Json } | null {
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value !== "object" || value === null || Array.isArray(value)) return null;
    const record = value as { readonly [key: string]: Json };
    return canonicalJson(record) === text ? record : null;
  } catch {
    return null;
  }
}
