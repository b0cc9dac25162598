/**
 * The way back: once, to the generation that was current before, and a success only when that one
 * answers as itself.
 *
 *     rollback ── answered ── prior current again? ── its agent, asked anew, is that build? ──> rolled_back
 *        ├── refused: nothing was activated ──> refused     └── no ──> manual_recovery
 *        └── lost ── its agent, asked anew, is that build? ──> rolled_back, or open
 *
 * @module
 */

import type { BootstrapCode, Phase } from "../../../lib/bootstrap/codes.ts";
import type { Plan } from "../../../lib/bootstrap/plan.ts";
import {
  type BootstrapReceipt,
  hasPassed,
  isSettled,
  withPhase,
} from "../../../lib/bootstrap/receipt.ts";
import type { Identity } from "../../../lib/bootstrap/requests.ts";
import { type Refusal, refuse } from "../../../lib/core/refusal.ts";
import type { BootstrapPorts } from "./apply.ts";
import { askSettled, codeOf } from "./ask_settled.ts";
import { acceptAgent, isPrior, type LookPorts } from "./judge_agent.ts";

/** What is gone back from, and to what. */
export interface WayBack {
  readonly operationId: string;
  readonly node: string;
  readonly configDigest: string;
  readonly prior: Plan["prior"];
  readonly trigger: BootstrapCode;
}

/** How it ended; `end` is null when that is not settled. */
export interface WentBack {
  readonly end: Extract<Phase, "rolled_back" | "refused" | "manual_recovery"> | null;
  readonly error: BootstrapCode;
}

/** Goes. */
export async function goBack(
  ports: Pick<BootstrapPorts, "ask"> & LookPorts,
  { operationId, node, configDigest, prior, trigger }: WayBack,
): Promise<WentBack> {
  const answer = await askSettled(ports, operationId, {
    protocol: 1,
    verb: "rollback",
    operation_id: operationId,
    config_digest: configDigest,
    trigger_error_code: trigger,
  });
  const code = codeOf(answer);
  const isLost = code === "may_have_executed";
  if (code !== null && !isLost) {
    if (code === "precondition_failed") return { end: "refused", error: trigger };
    const isStuck = "phase" in answer && answer.phase === "manual_recovery" ||
      code === "journal_damaged" || code === "operation_unknown";
    return { end: isStuck ? "manual_recovery" : null, error: code };
  }
  const isBack = "phase" in answer && answer.phase === "rolled_back" &&
    answer.current === answer.prior && answer.current === prior?.manifest_digest;
  if (!isLost && !isBack) return { end: "manual_recovery", error: "manual_recovery" };
  const failed = await acceptAgent(ports, (health) => isPrior(node, prior, health));
  if (failed === null) return { end: "rolled_back", error: trigger };
  return isLost
    ? { end: null, error: "may_have_executed" }
    : { end: "manual_recovery", error: failed };
}

/** What a person asks for who gives up an operation. */
export interface RollbackAsk {
  readonly operationId: string;
  readonly node: string;
  readonly because: BootstrapCode;
  /** Of this operation; null when this home has none. */
  readonly kept: BootstrapReceipt | null;
}

/** How it came out, and the receipt, where there is one. */
export type GivenUp =
  | { readonly kind: "gone"; readonly went: WentBack; readonly receipt: BootstrapReceipt | null }
  | Refusal;

/** Goes back because a person says so. The receiver says what to, the agent whether it is that. */
export async function giveUp(
  ports: BootstrapPorts,
  { operationId, node, because, kept }: RollbackAsk,
): Promise<GivenUp> {
  if (kept !== null && isSettled(kept) && !hasPassed(kept, "accepted")) {
    return refuse("operation_unknown", "this operation is settled: there is nothing to roll back");
  }
  const answer = await ports.ask({ protocol: 1, verb: "identity", expected_node: node });
  if ("code" in answer) return refuse(answer.code, "the receiver did not say who it is");
  const { identity } = answer;
  if (identity === undefined || identity.node !== node) {
    return refuse("wrong_node", "the receiver is of another node");
  }
  if (answer.operation_id !== operationId) {
    return refuse("operation_unknown", "this receiver knows no such operation");
  }
  let receipt = kept;
  let lost: Refusal | null = null;
  const keep = async (next: BootstrapReceipt) => {
    receipt = next;
    lost = await ports.record(next) ?? lost;
  };
  if (receipt !== null) {
    await keep(withPhase(receipt, "rollback_started", ports.now(), because));
    if (lost !== null) return lost; // nothing begins without
  }
  const went = await goBack(ports, {
    operationId,
    node,
    configDigest: identity.config_digest,
    prior: priorOf(answer.prior, identity),
    trigger: because,
  });
  if (receipt !== null) {
    const { end, error } = went;
    await keep(
      end === null ? { ...receipt, error } : withPhase(receipt, end, ports.now(), error),
    );
  }
  return { kind: "gone", went, receipt };
}

function priorOf(digest: string, { generations }: Identity): Plan["prior"] {
  const { prior } = generations;
  return digest === "none" || prior === undefined ? null : { manifest_digest: digest, ...prior };
}
