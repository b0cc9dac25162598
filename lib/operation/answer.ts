/**
 * What is asked of the runner, and how it answers.
 *
 * @module
 */

import type { Json } from "../core/canonical_json.ts";
import type { Problem } from "../core/problem.ts";
import { type Refusal, refuse } from "../core/refusal.ts";
import type { Action } from "./authorize.ts";
import type { Operation } from "./operation.ts";
import { mayHaveExecuted, type RunView } from "./run_record.ts";

/** What is asked. */
export interface Call {
  readonly principal: string;
  readonly scopes: Iterable<string>;
  readonly operation: string;
  readonly input: Json;
  readonly dryRun: boolean;
  readonly confirm: boolean;
  /** Idempotency key; null when there is none. */
  readonly key: string | null;
  /** The caller left: ends a read, never a mutation. */
  readonly signal?: AbortSignal;
}

/** How a call ended. */
export type Answer =
  | {
    readonly kind: "done";
    readonly result: Json;
    readonly dryRun: boolean;
    /** The run in the ledger; null for reads and dry runs. */
    readonly run: RunView | null;
    /** The run had been asked for before. */
    readonly known: boolean;
  }
  | (Refusal & {
    readonly mayHaveExecuted: boolean;
    readonly run: RunView | null;
    readonly problems: readonly Problem[];
  });

/** What the ledger says of a run, as an answer. `result` stands in for one too large to keep. */
export function answerOf(run: RunView, known: boolean, result?: Json): Answer {
  if (run.state === "done") {
    return { kind: "done", result: result ?? run.result, dryRun: false, run, known };
  }
  const code = run.code ?? "operation_running";
  const detail = run.detail ?? "the run has not ended yet";
  return {
    ...refuse(code, detail, run.state === "running" ? "ask for the run again" : undefined),
    mayHaveExecuted: run.state === "running" || mayHaveExecuted(run),
    run,
    problems: [],
  };
}

/** A refusal of something that was not begun. */
export function plain(refusal: Refusal): Extract<Answer, { kind: "refused" }> {
  return { ...refusal, mayHaveExecuted: false, run: null, problems: [] };
}

/** `Idempotency-Key`: 8 to 128 of these. */
const KEY = /^[A-Za-z0-9._:-]{8,128}$/;

/** What is missing or too much in a call whose input is right; null when nothing is. */
export function notReady(operation: Operation, ask: Call, action: Action): Refusal | null {
  if (operation.effect === "read" && ask.dryRun) {
    return refuse("dry_run_of_read", "a read has no dry run", "leave `dry_run` out");
  }
  if (action !== "apply") return null;
  if (operation.destructive && !ask.confirm) {
    return refuse(
      "confirm_required",
      "this operation destroys something",
      "look at the dry run, then send `confirm: true`",
    );
  }
  if (ask.key === null) {
    return refuse("key_required", "a mutation needs an `Idempotency-Key`", "send a fresh one");
  }
  if (!KEY.test(ask.key)) {
    return refuse("key_malformed", "expected 8 to 128 of `A-Z a-z 0-9 . _ : -`");
  }
  return null;
}
