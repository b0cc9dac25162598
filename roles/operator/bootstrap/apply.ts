/**
 * One bootstrap, from an absent agent to an accepted one, or back.
 *
 *     agent absent? ── stage ── activate ── accept: node, version, build, protocol, catalogue
 *                                  └────────────┴── no ──> rollback, once ── prior verified?
 *
 * Each step's phase is in the receipt before the next begins. Where the receiver went away and nobody
 * knows what it did, the receipt says so and stays open: the same operation goes on with it.
 *
 * @module
 */

import type { BootstrapCode, Phase } from "../../../lib/bootstrap/codes.ts";
import type { Plan } from "../../../lib/bootstrap/plan.ts";
import {
  type BootstrapReceipt,
  hasPassed,
  isSettled,
  newReceipt,
  triggerOf,
  withPhase,
} from "../../../lib/bootstrap/receipt.ts";
import { type Refusal, refuse } from "../../../lib/core/refusal.ts";
import { type Answered, type Ask, askSettled, codeOf } from "./ask_settled.ts";
import { goBack } from "./go_back.ts";
import {
  acceptAgent,
  type Health,
  isPlanned,
  isPrior,
  type LookPorts,
  refuseAgent,
} from "./judge_agent.ts";

/** What it needs of the world. */
export interface BootstrapPorts extends LookPorts {
  readonly ask: Ask;
  /** Keeps a receipt; null when it is on the disk. */
  readonly record: (receipt: BootstrapReceipt) => Promise<Refusal | null>;
  /** ISO 8601. */
  readonly now: () => string;
}

/** What is applied. */
export interface ApplyAsk {
  readonly plan: Plan;
  readonly planDigest: string;
  readonly operationId: string;
  readonly bundle: Uint8Array<ArrayBuffer>;
  readonly by: string;
  /** The receipt of the same operation, interrupted before; null when it is begun now. */
  readonly kept: BootstrapReceipt | null;
}

/** The receipt of an attempt that was begun, or why none was. */
export type Applied =
  | { readonly kind: "receipt"; readonly receipt: BootstrapReceipt }
  | Refusal;

/** Applies a plan that was resolved again and compared just now, or goes on with it. */
export async function applyPlan(ports: BootstrapPorts, ask: ApplyAsk): Promise<Applied> {
  const told = toldBefore(ask);
  if (told !== null) return told;
  const present = refuseAgent(await ports.agent());
  if (present !== null) return present;
  const attempt = await Attempt.begin(ports, ask);
  return attempt instanceof Attempt ? await attempt.run(ask) : attempt;
}

/** What a kept receipt already says; null when there is something left to do. */
export function toldBefore(
  { kept, planDigest }: Pick<ApplyAsk, "kept" | "planDigest">,
): Applied | null {
  if (kept === null) return null;
  if (kept.plan_sha256 !== planDigest) {
    return refuse(
      "operation_conflict",
      "this operation was begun with another plan",
      "give it the plan it was begun with, or begin another operation",
    );
  }
  return isSettled(kept) ? { kind: "receipt", receipt: kept } : null;
}

/**
 * An operation that was interrupted, and whose agent answers by now: accepted when it is the planned
 * one, rolled back when a way back was begun and it is the one from before. The receiver is not asked.
 */
export async function settleAnswering(
  ports: Pick<BootstrapPorts, "record" | "now">,
  ask: Omit<ApplyAsk, "bundle">,
  health: Health,
): Promise<Applied> {
  const told = toldBefore(ask);
  if (told !== null) return told;
  const { plan, planDigest, operationId, by, kept } = ask;
  const begun = kept ?? newReceipt(plan, planDigest, { operationId, by, at: ports.now() });
  const isBack = hasPassed(begun, "rollback_started");
  const settled = isBack
    ? isPrior(plan.expected_node, plan.prior, health) ? "rolled_back" : null
    : isPlanned(plan, health)
    ? "accepted"
    : null;
  if (settled === null) {
    return refuse(
      "agent_available",
      isBack
        ? "the agent of this host answers, and is not the one from before"
        : "the agent of this host answers, and is not the planned one",
      "look at what runs there; install through it, or stop it and give the same again",
    );
  }
  const receipt = withPhase(begun, settled, ports.now(), isBack ? triggerOf(begun) : null);
  return await ports.record(receipt) ?? { kind: "receipt", receipt };
}

class Attempt {
  readonly #ports: BootstrapPorts;
  #receipt: BootstrapReceipt;
  /** Why the disk does not keep receipts any more. */
  #lost: Refusal | null = null;

  private constructor(ports: BootstrapPorts, receipt: BootstrapReceipt) {
    this.#ports = ports;
    this.#receipt = receipt;
  }

  /** The receipt is on the disk before anything is sent. */
  static async begin(ports: BootstrapPorts, ask: ApplyAsk): Promise<Attempt | Refusal> {
    const { operationId, by, kept } = ask;
    const at = ports.now();
    const receipt = kept ?? newReceipt(ask.plan, ask.planDigest, { operationId, by, at });
    return await ports.record(receipt) ?? new Attempt(ports, receipt);
  }

  async run(ask: ApplyAsk): Promise<Applied> {
    if (hasPassed(this.#receipt, "rollback_started")) {
      return await this.#goBack(ask, triggerOf(this.#receipt) ?? "acceptance_failed");
    }
    // What was installed once is not sent again; whether it is still there, activating finds out.
    const isInstalled = hasPassed(this.#receipt, "installed");
    const staged = isInstalled ? null : codeOf(await this.#stage(ask));
    if (staged === "may_have_executed") return await this.#leave();
    if (staged !== null) return await this.#end("refused", staged);
    for (const phase of ["staged", "verified", "installed"] as const) await this.#pass(phase);
    const answer = await this.#activate(ask);
    const activated = codeOf(answer);
    const isFailed = activated !== null && activated !== "may_have_executed";
    if (isFailed && await this.#isUntouched(answer, ask)) {
      return await this.#end("refused", activated);
    }
    if ("phase" in answer && ["activated", "restarted"].includes(answer.phase)) {
      await this.#pass("activated");
    }
    if (activated === null) await this.#pass("restarted");
    const failed = isFailed ? activated : await this.#accept(ask.plan);
    if (failed === null) return await this.#end("accepted", null);
    // Nobody knows whether there is something to go back from.
    if (activated === "may_have_executed") return await this.#leave();
    return await this.#goBack(ask, failed);
  }

  #accept(plan: Plan): Promise<BootstrapCode | null> {
    return acceptAgent(this.#ports, (health) => isPlanned(plan, health));
  }

  #stage({ plan, planDigest, operationId, bundle }: ApplyAsk): Promise<Answered> {
    return askSettled(this.#ports, operationId, {
      protocol: 1,
      verb: "stage",
      expected_node: plan.expected_node,
      operation_id: operationId,
      plan_sha256: planDigest,
      config_digest: plan.receiver.config_digest,
      manifest_digest: plan.bundle.manifest_digest,
      bundle_length: bundle.length,
    }, bundle);
  }

  #activate({ plan, operationId }: ApplyAsk): Promise<Answered> {
    return askSettled(this.#ports, operationId, {
      protocol: 1,
      verb: "activate",
      operation_id: operationId,
      manifest_digest: plan.bundle.manifest_digest,
      config_digest: plan.receiver.config_digest,
    });
  }

  /** Whether a receiver that refused to activate says that it changed nothing. */
  async #isUntouched(answer: Answered, { plan, operationId }: ApplyAsk): Promise<boolean> {
    // Refused before it looked at the operation: an earlier request may have been executed.
    const isBefore = !("phase" in answer) || answer.phase === "none";
    const standing = isBefore
      ? await this.#ports.ask({ protocol: 1, verb: "status", operation_id: operationId })
      : answer;
    if (isBefore && codeOf(standing) !== null) return codeOf(standing) === "operation_unknown";
    return "phase" in standing && !standing.unfinished &&
      ["planned", "installed", "refused"].includes(standing.phase) &&
      standing.current !== plan.bundle.manifest_digest;
  }

  async #goBack({ plan, operationId }: ApplyAsk, trigger: BootstrapCode): Promise<Applied> {
    await this.#pass("rollback_started", trigger);
    const { end, error } = await goBack(this.#ports, {
      operationId,
      node: plan.expected_node,
      configDigest: plan.receiver.config_digest,
      prior: plan.prior,
      trigger,
    });
    return end === null ? await this.#leave(error) : await this.#end(end, error);
  }

  async #pass(phase: Phase, error?: BootstrapCode | null): Promise<void> {
    await this.#keep(withPhase(this.#receipt, phase, this.#ports.now(), error));
  }

  async #keep(receipt: BootstrapReceipt): Promise<void> {
    this.#receipt = receipt;
    this.#lost = await this.#ports.record(receipt) ?? this.#lost;
  }

  /** A disk that keeps no receipt stops nothing that was begun; the receipt is told all the same. */
  async #end(phase: Phase, error: BootstrapCode | null): Promise<Applied> {
    await this.#pass(phase, error);
    if (this.#lost !== null) await this.#pass("cleanup_failed");
    return { kind: "receipt", receipt: this.#receipt };
  }

  /** Not settled: the receiver went away, or refused to go back, and the same goes on from here. */
  async #leave(error: BootstrapCode = "may_have_executed"): Promise<Applied> {
    await this.#keep({ ...this.#receipt, error });
    return { kind: "receipt", receipt: this.#receipt };
  }
}
