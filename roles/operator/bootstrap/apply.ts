/**
 * One bootstrap, from an absent agent to an accepted one, or back.
 *
 *     agent absent? ── stage ── activate ── accept: node, version, build, protocol, catalogue
 *                                  └────────────┴── no ──> rollback, once ── prior verified?
 *
 * Each step's phase is in the receipt before the next begins. A request whose answer got lost is
 * asked about, and sent again: the receiver does nothing twice.
 *
 * @module
 */

import type { BootstrapCode, Phase } from "../../../lib/bootstrap/codes.ts";
import type { Plan } from "../../../lib/bootstrap/plan.ts";
import { type BootstrapReceipt, newReceipt, withPhase } from "../../../lib/bootstrap/receipt.ts";
import type { Answer, Request } from "../../../lib/bootstrap/requests.ts";
import type { Json } from "../../../lib/core/canonical_json.ts";
import { type Refusal, refuse } from "../../../lib/core/refusal.ts";

/** What the declared agent is. */
export type AgentSeen =
  | { readonly kind: "answers"; readonly health: { readonly [key: string]: Json } }
  /** Proven to be down, before anything was asked of it. */
  | { readonly kind: "absent" }
  /** It does not know the token, or gives it no such scope. */
  | { readonly kind: "rejects" }
  /** Another node, another build, or nobody knows. */
  | { readonly kind: "uncertain" };

/** What it needs of the world. */
export interface BootstrapPorts {
  readonly ask: (
    request: Request,
    bundle?: Uint8Array<ArrayBuffer>,
  ) => Promise<Answer | Refusal<BootstrapCode>>;
  /** Over a fresh, authenticated connection. */
  readonly agent: () => Promise<AgentSeen>;
  /** Keeps a receipt; null when it is on the disk. */
  readonly record: (receipt: BootstrapReceipt) => Promise<Refusal | null>;
  /** ISO 8601. */
  readonly now: () => string;
  /** Waits before the agent is looked at again; false when it had time enough. */
  readonly waitForAgent: () => Promise<boolean>;
}

/** What is applied. */
export interface ApplyAsk {
  readonly plan: Plan;
  readonly planDigest: string;
  readonly operationId: string;
  readonly bundle: Uint8Array<ArrayBuffer>;
  readonly by: string;
}

/** The receipt of an attempt that was begun, or why none was. */
export type Applied =
  | { readonly kind: "receipt"; readonly receipt: BootstrapReceipt }
  | Refusal;

/** Applies a plan that was resolved again and compared just now. */
export async function applyPlan(ports: BootstrapPorts, ask: ApplyAsk): Promise<Applied> {
  const present = refuseAgent(await ports.agent());
  if (present !== null) return present;
  const attempt = await Attempt.begin(ports, ask);
  return attempt instanceof Attempt ? await attempt.run(ask) : attempt;
}

/**
 * An operation that was interrupted here, and whose agent answers by now: accepted when it is the
 * planned one. The receiver is not asked any more.
 */
export async function settleAnswering(
  ports: Pick<BootstrapPorts, "record" | "now">,
  ask: Omit<ApplyAsk, "bundle">,
  health: { readonly [key: string]: Json },
): Promise<Applied> {
  if (!isPlanned(ask.plan, health)) {
    return refuse(
      "agent_available",
      "the agent of this host answers, and is not the planned one",
      "look at what runs there; install through it, or stop it and roll back",
    );
  }
  const { operationId, by } = ask;
  const begun = newReceipt(ask.plan, ask.planDigest, { operationId, by, at: ports.now() });
  const receipt = withPhase(begun, "accepted", ports.now());
  return await ports.record(receipt) ?? { kind: "receipt", receipt };
}

/** Health alone is not enough, and neither is the version: it must be the planned build. */
function isPlanned(
  { expected_node, bundle, expected }: Plan,
  health: { readonly [key: string]: Json },
): boolean {
  const wanted: Readonly<Record<string, Json>> = {
    node: expected_node,
    version: bundle.version,
    build_digest: bundle.build_digest,
    protocol: expected.protocol,
    catalogue_digest: expected.catalogue_digest,
  };
  return Object.entries(wanted).every(([key, value]) => health[key] === value);
}

/** Why the receiver may not be asked: only an agent that is proven to be down makes room for it. */
export function refuseAgent(seen: AgentSeen): Refusal<BootstrapCode> | null {
  switch (seen.kind) {
    case "absent":
      return null;
    case "answers":
      return refuse(
        "agent_available",
        "the agent of this host answers",
        "install through it; the receiver is for hosts without one",
      );
    case "rejects":
      return refuse(
        "auth_rejected",
        "the agent does not accept this operator's token",
        "mend the token; the receiver is no way around it",
      );
    case "uncertain":
      return refuse(
        "precondition_failed",
        "what answers there is no proof that the agent is down",
        "look at what listens on the agent's port",
      );
  }
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
    const { operationId, by } = ask;
    const receipt = newReceipt(ask.plan, ask.planDigest, { operationId, by, at: ports.now() });
    return await ports.record(receipt) ?? new Attempt(ports, receipt);
  }

  async run(ask: ApplyAsk): Promise<Applied> {
    const refused = await this.#stage(ask);
    if (refused !== null) return await this.#end("refused", refused);
    const failed = await this.#activate(ask) ?? await this.#accept(ask.plan);
    if (failed === null) return await this.#end("accepted");
    await this.#pass("rollback_started", failed);
    const stuck = await this.#rollBack(ask, failed);
    return await this.#end(stuck === null ? "rolled_back" : "manual_recovery", stuck ?? failed);
  }

  async #stage({ plan, planDigest, operationId, bundle }: ApplyAsk): Promise<BootstrapCode | null> {
    const answer = await this.#settled(operationId, {
      protocol: 1,
      verb: "stage",
      expected_node: plan.expected_node,
      operation_id: operationId,
      plan_sha256: planDigest,
      config_digest: plan.receiver.config_digest,
      manifest_digest: plan.bundle.manifest_digest,
      bundle_length: bundle.length,
    }, bundle);
    const code = codeOf(answer);
    if (code !== null) return code;
    for (const phase of ["staged", "verified", "installed"] as const) await this.#pass(phase);
    return null;
  }

  async #activate({ plan, operationId }: ApplyAsk): Promise<BootstrapCode | null> {
    const answer = await this.#settled(operationId, {
      protocol: 1,
      verb: "activate",
      operation_id: operationId,
      manifest_digest: plan.bundle.manifest_digest,
      config_digest: plan.receiver.config_digest,
    });
    if ("phase" in answer && ["activated", "restarted"].includes(answer.phase)) {
      await this.#pass("activated");
    }
    const code = codeOf(answer);
    if (code === null) await this.#pass("restarted");
    return code;
  }

  async #accept(plan: Plan): Promise<BootstrapCode | null> {
    do {
      const seen = await this.#ports.agent();
      if (seen.kind === "answers") return isPlanned(plan, seen.health) ? null : "acceptance_failed";
      if (seen.kind !== "absent") return "acceptance_failed";
    } while (await this.#ports.waitForAgent());
    return "acceptance_failed";
  }

  /** Null when the prior generation is current, its unit runs, and its agent answers as this node. */
  async #rollBack(
    { plan, operationId }: ApplyAsk,
    trigger: BootstrapCode,
  ): Promise<BootstrapCode | null> {
    const answer = await this.#settled(operationId, {
      protocol: 1,
      verb: "rollback",
      operation_id: operationId,
      config_digest: plan.receiver.config_digest,
      trigger_error_code: trigger,
    });
    const code = codeOf(answer);
    if (code !== null) return code;
    if (!("phase" in answer) || answer.phase !== "rolled_back" || answer.current !== answer.prior) {
      return "manual_recovery";
    }
    do {
      const seen = await this.#ports.agent();
      if (seen.kind === "answers") {
        const { node, build_digest } = seen.health;
        // The prior one is another build, unless the same generation was installed over itself.
        const isCandidate = build_digest === plan.bundle.build_digest &&
          answer.prior !== plan.bundle.manifest_digest;
        return node === plan.expected_node && !isCandidate ? null : "acceptance_failed";
      }
      if (seen.kind !== "absent") return "acceptance_failed";
    } while (await this.#ports.waitForAgent());
    return "acceptance_failed";
  }

  /** Sends; where the answer got lost, asks how it stands and sends the same once more. */
  async #settled(
    operationId: string,
    request: Request,
    bundle?: Uint8Array<ArrayBuffer>,
  ): Promise<Answer | Refusal<BootstrapCode>> {
    const first = await this.#ports.ask(request, bundle);
    if (codeOf(first) !== "outcome_unknown") return first;
    const status = await this.#ports.ask({
      protocol: 1,
      verb: "status",
      operation_id: operationId,
    });
    // Only a receiver that answers again is asked again.
    const answers = "phase" in status || codeOf(status) === "operation_unknown";
    return answers ? await this.#ports.ask(request, bundle) : first;
  }

  async #pass(phase: Phase, error?: BootstrapCode): Promise<void> {
    this.#receipt = withPhase(this.#receipt, phase, this.#ports.now(), error);
    this.#lost = await this.#ports.record(this.#receipt) ?? this.#lost;
  }

  /** A disk that keeps no receipt stops nothing that was begun; the receipt is told all the same. */
  async #end(phase: Phase, error?: BootstrapCode): Promise<Applied> {
    await this.#pass(phase, error);
    if (this.#lost !== null) await this.#pass("cleanup_failed");
    return { kind: "receipt", receipt: this.#receipt };
  }
}

function codeOf(answer: Answer | Refusal<BootstrapCode>): BootstrapCode | null {
  return "code" in answer ? answer.code : null;
}
