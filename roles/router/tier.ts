/**
 * One tier at work: its gate, what is known of its members, and the exchanges waiting for a lease.
 * The only holder of its gate; everyone else asks.
 *
 * @module
 */

import {
  createGate,
  type GateEffect,
  type GateEvent,
  type GateRefusal,
  type Intent,
  step,
} from "../../lib/admission/gate.ts";
import type { Clock } from "../../lib/core/clock.ts";
import {
  type Readiness,
  type ReadinessEvent,
  step as stepReadiness,
  UNPROBED,
} from "../../lib/identity/readiness.ts";
import type { Route } from "../../lib/relay/dialect.ts";
import type { Endpoint } from "../../lib/relay/upstream.ts";
import { modelText } from "../../lib/relay/splice.ts";
import type { TierConfig } from "./config_shape.ts";

/** What came of asking for a lease. */
export type Leased =
  | { readonly kind: "granted"; readonly member: Member; readonly waitedMs: number }
  | { readonly kind: "refused"; readonly code: GateRefusal; readonly retryAfterSeconds: number }
  /** The exchange ended while it waited. */
  | { readonly kind: "gone" };

/** One endpoint of a tier. */
export interface Member {
  readonly id: string;
  readonly endpoint: Endpoint;
}

/** What a tier says of itself. */
export interface TierReport {
  readonly tier: string;
  readonly intent: Intent;
  readonly readiness: "ready" | "not_ready";
  readonly in_flight: number;
  readonly waiting: number;
  readonly members: readonly {
    readonly id: string;
    readonly state: Readiness["state"];
    /** The pinned model. */
    readonly expected: string;
    readonly observed: string;
    readonly in_flight: number;
    /** How old the finding is; null when there is none. */
    readonly age_ms: number | null;
  }[];
}

interface Waiter {
  readonly answer: (leased: Leased) => void;
  readonly timer: AbortController;
}

/** A tier at work. */
export class Tier {
  readonly config: TierConfig;
  /** What replaces the client's `model`, by kind of body. */
  readonly model: { readonly [body in Route["body"]]: Uint8Array };
  readonly #clock: Clock;
  readonly #gate;
  readonly #readiness = new Map<string, Readiness>();
  readonly #members: ReadonlyMap<string, Member>;
  readonly #waiters = new Map<string, Waiter>();

  constructor(config: TierConfig, clock: Clock) {
    this.config = config;
    this.model = {
      json: modelText(config.served_model, "json"),
      multipart: modelText(config.served_model, "multipart"),
    };
    this.#clock = clock;
    this.#gate = createGate({
      inFlight: config.admission.in_flight,
      queue: config.admission.queue,
      queueSeconds: config.admission.queue_seconds,
    });
    this.#members = new Map(config.members.map((member) => [member.id, member]));
    for (const member of config.members) this.#readiness.set(member.id, UNPROBED);
  }

  /** Leases held now. */
  get inFlight(): number {
    return this.#gate.leases.size;
  }

  /** Requests in the queue now. */
  get waiting(): number {
    return this.#gate.waiting.size;
  }

  /** True when a request could be admitted now or after waiting. */
  get admits(): boolean {
    return this.#gate.intent === "admit" && this.#gate.ready.length > 0;
  }

  /** Asks for a lease for exchange `id`; waits in the queue when it must. End it with {@link end}. */
  lease(id: string): Promise<Leased> | Leased {
    const effects = step(this.#gate, { kind: "ask", id, at: this.#clock.monotonic() });
    const [effect] = effects;
    if (effect !== undefined) return this.#leased(effect);
    return new Promise((answer) => {
      const timer = new AbortController();
      this.#waiters.set(id, { answer, timer });
      void this.#expire(id, timer.signal);
    });
  }

  /** Gives up the lease, or the place in the queue, of exchange `id`. Safe more than once. */
  end(id: string): void {
    this.#settle(id, { kind: "gone" });
    this.#apply({ kind: "end", id, at: this.#clock.monotonic() });
  }

  /** Changes what the operator wants of this tier. */
  setIntent(intent: Intent): void {
    this.#apply({ kind: "intent", intent, at: this.#clock.monotonic() });
  }

  /** Takes in what happened to a member. Returns what is known of it before and after. */
  observe(member: string, event: ReadinessEvent): readonly [before: Readiness, after: Readiness] {
    const before = this.readinessOf(member);
    const after = stepReadiness(before, event);
    this.#readiness.set(member, after);
    if (before.state !== after.state) {
      const ready = this.config.members
        .filter(({ id }) => this.#readiness.get(id)?.state === "ready")
        .map(({ id }) => id);
      this.#apply({ kind: "members", ready, at: this.#clock.monotonic() });
    }
    return [before, after];
  }

  /** What is known of a member now. */
  readinessOf(member: string): Readiness {
    return this.#readiness.get(member) ?? UNPROBED;
  }

  /** Leases held on one member now. */
  inFlightOn(member: string): number {
    let held = 0;
    for (const holder of this.#gate.leases.values()) if (holder === member) held++;
    return held;
  }

  /** What is observed now. */
  report(): TierReport {
    const now = this.#clock.monotonic();
    return {
      tier: this.config.id,
      intent: this.#gate.intent,
      readiness: this.#gate.ready.length > 0 ? "ready" : "not_ready",
      in_flight: this.inFlight,
      waiting: this.waiting,
      members: this.config.members.map(({ id }) => {
        const { state, observed, at } = this.readinessOf(id);
        const age = at === null ? null : Math.round(now - at);
        return {
          id,
          state,
          expected: this.config.served_model,
          observed,
          in_flight: this.inFlightOn(id),
          age_ms: age,
        };
      }),
    };
  }

  /** Refuses the waiter once its time is over. A timer may fire early: then it is set again. */
  async #expire(id: string, gone: AbortSignal): Promise<void> {
    const until = this.#clock.monotonic() + this.config.admission.queue_seconds * 1000;
    while (this.#waiters.has(id)) {
      const left = Math.max(1, until - this.#clock.monotonic());
      await this.#clock.sleep(left, gone).catch(() => {});
      if (!gone.aborted) this.#apply({ kind: "tick", at: this.#clock.monotonic() });
    }
  }

  #apply(event: GateEvent): void {
    for (const effect of step(this.#gate, event)) this.#settle(effect.id, this.#leased(effect));
  }

  #leased(effect: GateEffect): Leased {
    if (effect.kind === "refused") {
      const { code, retryAfterSeconds } = effect;
      return { kind: "refused", code, retryAfterSeconds };
    }
    const member = this.#members.get(effect.member);
    if (member === undefined) throw new Error(`tier: granted unknown member ${effect.member}`);
    return { kind: "granted", member, waitedMs: effect.waitedMs };
  }

  #settle(id: string, leased: Leased): void {
    const waiter = this.#waiters.get(id);
    if (waiter === undefined) return;
    this.#waiters.delete(id);
    waiter.timer.abort();
    waiter.answer(leased);
  }
}
