/**
 * What a receiver owes. Staging is no effect: its bytes come with the connection and cannot be had
 * again, so an interrupted one is simply not there, and is sent anew.
 *
 *     (none) ──begin──> planned ──installed──> installed ──activate──> [switch] activated
 *                          └─refused─> refused                            └─> [restart] restarted
 *     activated, restarted ──rollback──> rollback_started [switch back] [restart] ──> rolled_back
 *                                             └── fails, or no prior ──> manual_recovery
 *
 * @module
 */

import type { Machine } from "../core/machine.ts";
import type { BootstrapCode, Phase } from "./codes.ts";

/** What an operation is about: compared when its id comes again. */
export interface Operation {
  readonly operation_id: string;
  readonly plan_sha256: string;
  readonly manifest_digest: string;
  readonly [key: string]: string;
}

/** What happened. */
export type ReceiverEvent =
  | { readonly type: "begin"; readonly operation: Operation }
  | { readonly type: "installed" }
  | { readonly type: "refused"; readonly code: BootstrapCode }
  /** `prior` is what `current` named; "none": nothing. */
  | { readonly type: "activate"; readonly prior: string }
  | { readonly type: "rollback"; readonly trigger: BootstrapCode }
  | { readonly type: "switched" }
  | { readonly type: "restarted" }
  | { readonly type: "failed"; readonly code: BootstrapCode };

/** What is owed: both are safe to do twice. */
export type ReceiverEffect =
  /** Make `to` the current generation, if `current` names `from` or `to`. */
  | { readonly type: "switch"; readonly from: string; readonly to: string }
  | { readonly type: "restart"; readonly to: string };

/** Where it stands. */
export interface ReceiverState {
  readonly operation: Operation | null;
  readonly phase: Phase | null;
  readonly error: BootstrapCode | null;
  /** What was current before the activation; null before one. */
  readonly prior: string | null;
  readonly owes: "switch" | "restart" | null;
}

const INITIAL: ReceiverState = {
  operation: null,
  phase: null,
  error: null,
  prior: null,
  owes: null,
};

function step(state: ReceiverState, event: ReceiverEvent): ReceiverState {
  switch (event.type) {
    case "begin":
      return { ...INITIAL, operation: event.operation, phase: "planned" };
    case "installed":
      return { ...state, phase: "installed", error: null };
    case "refused":
      return { ...state, phase: "refused", error: event.code };
    case "activate":
      return { ...state, prior: event.prior, owes: "switch", error: null };
    case "rollback":
      return state.prior === null || state.prior === "none"
        ? { ...state, phase: "manual_recovery", error: "no_prior_generation", owes: null }
        : { ...state, phase: "rollback_started", error: event.trigger, owes: "switch" };
    case "switched":
      return state.phase === "rollback_started"
        ? { ...state, owes: "restart" }
        : { ...state, phase: "activated", owes: "restart" };
    case "restarted":
      return state.phase === "rollback_started"
        ? { ...state, phase: "rolled_back", owes: null }
        : { ...state, phase: "restarted", owes: null };
    case "failed":
      // On the way back there is no further way back; nor where nobody knows whose pointer it is.
      return state.phase === "rollback_started" || event.code === "ownership_uncertain"
        ? { ...state, phase: "manual_recovery", error: stuckBy(state, event.code), owes: null }
        : { ...state, error: event.code, owes: null };
  }
}

/** What is gone, or not whole, is nothing to go back to. */
function stuckBy({ phase }: ReceiverState, code: BootstrapCode): BootstrapCode {
  return phase === "rollback_started" && code === "generation_not_whole"
    ? "no_prior_generation"
    : code;
}

function owed({ phase, operation, prior, owes }: ReceiverState): ReceiverEffect | null {
  if (owes === null || operation === null || prior === null) return null;
  const back = phase === "rollback_started";
  const [from, to] = back ? [operation.manifest_digest, prior] : [prior, operation.manifest_digest];
  return owes === "switch" ? { type: "switch", from, to } : { type: "restart", to };
}

/** The machine. */
export const receiverMachine: Machine<ReceiverState, ReceiverEvent, ReceiverEffect> = {
  initial: INITIAL,
  step,
  owed,
};
