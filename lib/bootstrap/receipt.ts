/**
 * The receipt of an attempt: which phases it passed and how it ended, in fixed words and digests.
 *
 * @module
 */

import * as z from "zod";
import { CODES, type Phase, PHASES } from "./codes.ts";
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
  /** In the order they were passed. */
  phases: z.array(z.strictObject({
    phase: z.enum(PHASES),
    at: z.iso.datetime(),
  })).min(1),
  /** What went wrong; null when nothing did. */
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

/** The receipt after another phase. Cleaning up after an end may fail and changes no verdict. */
export function withPhase(
  receipt: BootstrapReceipt,
  phase: Phase,
  at: string,
  error: BootstrapReceipt["error"] = receipt.error,
): BootstrapReceipt {
  const last = receipt.phases.at(-1)?.phase;
  if (last === phase) return receipt;
  if (last !== undefined && ENDS.includes(last) && phase !== "cleanup_failed") {
    throw new TypeError(`a receipt that ended ${last} cannot become ${phase}`);
  }
  return { ...receipt, phases: [...receipt.phases, { phase, at }], error };
}

/** 0 accepted, 3 a person must look, 1 anything else. */
export function exitCodeOf({ phases }: BootstrapReceipt): 0 | 1 | 3 {
  const passed = phases.map(({ phase }) => phase);
  if (passed.includes("manual_recovery")) return 3;
  return passed.includes("accepted") && !passed.includes("rollback_started") ? 0 : 1;
}
