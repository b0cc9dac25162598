/**
 * The receipt of an attempt: which phases it passed and how it ended, in fixed words and digests.
 *
 * @module
 */

import * as z from "zod";
import { type BootstrapCode, CODES, type Phase, PHASES } from "./codes.ts";
import { nodeShape, type Plan, sha256Shape } from "./plan.ts";
import { operationIdShape } from "./requests.ts";

/** One receipt, kept by the operator. */
export const bootstrapReceiptShape = z.strictObject({
  schema: z.literal(1),
  operation_id: operationIdShape,
  node: nodeShape,
  plan_sha256: sha256Shape,
  manifest_digest: sha256Shape,
  build_digest: sha256Shape,
  /** In the order they were passed; `error` is what led to one. */
  phases: z.array(z.strictObject({
    phase: z.enum(PHASES),
    at: z.iso.datetime(),
    error: z.enum(CODES).optional(),
  })).min(1),
  /** What went wrong, or what nobody knows; null when nothing did. */
  error: z.enum(CODES).nullable(),
  by: z.string().min(1).max(256),
});

/** One receipt. */
export type BootstrapReceipt = z.infer<typeof bootstrapReceiptShape>;

/** Phases after which nothing more happens by itself. */
const ENDS: readonly Phase[] = ["accepted", "rolled_back", "manual_recovery", "refused"];

/** The first receipt of an operation. */
export function newReceipt(
  plan: Plan,
  planDigest: string,
  { operationId, by, at }: {
    readonly operationId: string;
    readonly by: string;
    readonly at: string;
  },
): BootstrapReceipt {
  return {
    schema: 1,
    operation_id: operationId,
    node: plan.expected_node,
    plan_sha256: planDigest,
    manifest_digest: plan.bundle.manifest_digest,
    build_digest: plan.bundle.build_digest,
    phases: [{ phase: "planned", at }],
    error: null,
    by,
  };
}

/** Whether it passed a phase. */
export function hasPassed({ phases }: BootstrapReceipt, phase: Phase): boolean {
  return phases.some((one) => one.phase === phase);
}

/** Whether it is settled. One that is not is gone on with, under the same id. */
export function isSettled({ phases }: BootstrapReceipt): boolean {
  const last = phases.findLast(({ phase }) => phase !== "cleanup_failed")?.phase;
  return last !== undefined && ENDS.includes(last);
}

/** What made it go back; null when nothing did. */
export function triggerOf({ phases }: BootstrapReceipt): BootstrapCode | null {
  return phases.find(({ phase }) => phase === "rollback_started")?.error ?? null;
}

/**
 * The receipt after another phase; one that was passed before, by an attempt that was interrupted, is
 * not passed again. A person may go back from what was accepted. Cleaning up after an end may fail and
 * changes no verdict.
 */
export function withPhase(
  receipt: BootstrapReceipt,
  phase: Phase,
  at: string,
  error: BootstrapReceipt["error"] = receipt.error,
): BootstrapReceipt {
  if (hasPassed(receipt, phase)) return { ...receipt, error };
  const last = receipt.phases.at(-1)?.phase;
  const mayFollow = phase === "cleanup_failed" ||
    (last === "accepted" && phase === "rollback_started");
  if (last !== undefined && ENDS.includes(last) && !mayFollow) {
    throw new TypeError(`a receipt that ended ${last} cannot become ${phase}`);
  }
  const passed = phase === "rollback_started" && error !== null
    ? { phase, at, error }
    : { phase, at };
  return { ...receipt, phases: [...receipt.phases, passed], error };
}

/** 0 accepted; 1 refused or rolled back; 3 a person must look, or go on: it is not settled. */
export function exitCodeOf(receipt: BootstrapReceipt): 0 | 1 | 3 {
  if (hasPassed(receipt, "manual_recovery") || !isSettled(receipt)) return 3;
  return hasPassed(receipt, "accepted") && !hasPassed(receipt, "rollback_started") ? 0 : 1;
}
