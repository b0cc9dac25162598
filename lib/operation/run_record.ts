/**
 * A run: one mutation that was asked for with one key, and how far it came.
 *
 *     (no row) ──claim──> running ──settle──> done | refused | failed ──age, count──> tombstone
 *                            │ the process died
 *                            └──boot, or whoever asks──> failed: operation_interrupted
 *
 * @module
 */

import { canonicalJson, type Json } from "../core/canonical_json.ts";
import { timestamp } from "../core/clock.ts";
import { hex } from "../core/ids.ts";
import type { Row } from "../host/sqlite.ts";
import { sha256 } from "../host/digest.ts";
import type { Effect } from "./operation.ts";

/** The step that the runner journals before an operation's own `run`. */
export const BEGUN = "run";

/** How a run ended. */
export type RunEnd =
  | { readonly state: "done"; readonly result: Json }
  | {
    readonly state: "refused" | "failed";
    readonly code: string;
    readonly detail: string;
    /** What is known of the world; without it, what the last step said. */
    readonly effect?: Effect;
  };

/** A run as the ledger tells it. */
export interface RunView {
  readonly [key: string]: Json;
  readonly id: string;
  readonly key: string;
  readonly principal: string;
  readonly operation: string;
  readonly state: "running" | "done" | "refused" | "failed";
  /** The last journaled step. */
  readonly step: string | null;
  readonly effect: Effect;
  readonly code: string | null;
  readonly detail: string | null;
  /** Null until done, and when truncated or forgotten. */
  readonly result: Json;
  /** The result was larger than the ledger keeps. */
  readonly truncated: boolean;
  /** The result was let go by age or count; the ending was not. */
  readonly forgotten: boolean;
  readonly started_at: string;
  readonly ended_at: string | null;
}

/** What a key is bound to. */
export interface RunSubject {
  readonly principal: string;
  readonly operation: string;
  readonly input: Json;
  readonly node: string;
  /** Fingerprint of the topology this host runs by; null when it knows none. */
  readonly topology: string | null;
}

/** The digest that a key is bound to, lower-case hex. */
export function fingerprintOf({ principal, operation, input, node, topology }: RunSubject): string {
  const inputDigest = hex(sha256(canonicalJson(input)));
  return hex(sha256(canonicalJson([principal, operation, inputDigest, node, topology])));
}

/** True when the outside world may have been changed. */
export function mayHaveExecuted(run: Pick<RunView, "effect">): boolean {
  return run.effect !== "none";
}

/** The view of a run that was claimed just now. */
export function freshView(
  of: Pick<RunView, "id" | "key" | "principal" | "operation">,
  startedAt: number,
): RunView {
  return {
    id: of.id,
    key: of.key,
    principal: of.principal,
    operation: of.operation,
    state: "running",
    step: null,
    effect: "none",
    code: null,
    detail: null,
    result: null,
    truncated: false,
    forgotten: false,
    started_at: timestamp(startedAt),
    ended_at: null,
  };
}

/** A row of the ledger as a view. */
export function viewOf(row: Row): RunView {
  const text = (name: string) => {
    const value = row[name];
    return value === null || value === undefined ? null : String(value);
  };
  const ended = row["ended_at"];
  const result = text("result");
  return {
    id: text("id") ?? "",
    key: text("key") ?? "",
    principal: text("principal") ?? "",
    operation: text("operation") ?? "",
    state: text("state") as RunView["state"],
    step: text("step"),
    effect: text("effect") as Effect,
    code: text("code"),
    detail: text("detail"),
    result: result === null ? null : JSON.parse(result) as Json,
    truncated: row["truncated"] === 1,
    forgotten: row["forgotten"] === 1,
    started_at: timestamp(Number(row["started_at"])),
    ended_at: ended === null || ended === undefined ? null : timestamp(Number(ended)),
  };
}
