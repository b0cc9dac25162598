/**
 * Whether a request fits where its operation stands. Each request may come again: what it asked for
 * and is done is answered, not done twice.
 *
 * @module
 */

import { type Refusal, refuse } from "../core/refusal.ts";
import type { BootstrapCode } from "./codes.ts";
import type { Operation, ReceiverState } from "./receiver_machine.ts";
import type { RequestOf } from "./requests.ts";

/** Go on with it, answer from what is there, or refuse. */
export type Admission =
  | { readonly kind: "go" }
  | { readonly kind: "done" }
  | Refusal<BootstrapCode>;

/** May this bundle be staged now? */
export function admitStage(state: ReceiverState, operation: Operation): Admission {
  const blocked = refuseManual(state);
  if (blocked !== null) return blocked;
  const before = state.operation;
  if (before?.operation_id !== operation.operation_id) {
    // An operation that was activated and whose restart is not known has first to be settled.
    return state.phase === "activated" || state.phase === "rollback_started"
      ? refuse("operation_conflict", "another operation is not settled", "roll it back first")
      : { kind: "go" };
  }
  if (
    before.plan_sha256 !== operation.plan_sha256 ||
    before.manifest_digest !== operation.manifest_digest
  ) return refuse("operation_conflict", "this operation's id was used for something else");
  return state.phase === "planned" || state.phase === "refused" ? { kind: "go" } : { kind: "done" };
}

/** May it be activated now? */
export function admitActivate(state: ReceiverState, ask: RequestOf<"activate">): Admission {
  const blocked = refuseManual(state) ?? refuseOther(state, ask.operation_id);
  if (blocked !== null) return blocked;
  if (state.operation?.manifest_digest !== ask.manifest_digest) {
    return refuse("digest_mismatch", "another bundle was staged for this operation");
  }
  if (state.phase === "installed" || state.phase === "activated") return { kind: "go" };
  return state.phase === "restarted" ? { kind: "done" } : refuse(
    "operation_unknown",
    "nothing was installed for this operation, or it was rolled back",
  );
}

/** May it be rolled back now? Once, and only what was activated. */
export function admitRollback(state: ReceiverState, ask: RequestOf<"rollback">): Admission {
  if (state.operation?.operation_id === ask.operation_id && state.phase === "rolled_back") {
    return { kind: "done" };
  }
  const blocked = refuseManual(state) ?? refuseOther(state, ask.operation_id);
  if (blocked !== null) return blocked;
  return state.prior === null
    ? refuse("precondition_failed", "nothing was activated, so there is nothing to roll back")
    : { kind: "go" };
}

function refuseManual({ phase }: ReceiverState): Refusal<BootstrapCode> | null {
  return phase === "manual_recovery"
    ? refuse("manual_recovery", "a person has to look at this host first")
    : null;
}

function refuseOther(
  { operation }: ReceiverState,
  operationId: string,
): Refusal<BootstrapCode> | null {
  return operation?.operation_id === operationId
    ? null
    : refuse("operation_unknown", "this receiver knows no such operation");
}
