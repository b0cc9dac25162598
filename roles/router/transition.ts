/**
 * Quiesce, drain, readmit: what an operator (or the agent on this host) asks of one tier.
 *
 *     quiesce: keep the intent ──> stop admission              in-flight work goes on
 *     drain:   quiesce ──> wait for zero leases                409 drain_timeout with the count
 *     readmit: new epoch ──> probe now ──> keep ──> admit      409 readmit_refused with what was seen
 *
 * One at a time: a transition waits for the one before it. Each is safe to ask again.
 *
 * @module
 */

import { z } from "zod";
import type { Clock } from "../../lib/core/clock.ts";
import { type Refusal, refuse } from "../../lib/core/refusal.ts";
import type { Core } from "./core.ts";
import type { IntentStore } from "./intent_file.ts";
import type { Prober } from "./prober.ts";
import type { Tier, TierReport } from "./tier.ts";

/** What may be asked. */
export const transitionShape = z.strictObject({
  tier: z.string().min(1).max(256),
  action: z.enum(["quiesce", "drain", "readmit"]),
  /** How long a drain waits; default 30. */
  timeout_seconds: z.number().min(0).max(3600).optional(),
  dry_run: z.boolean().optional(),
});

/** One request for a transition. */
export type TransitionAsk = z.infer<typeof transitionShape>;

/** What was observed at the end of it. */
export interface Transitioned {
  readonly kind: "observed";
  readonly tier: string;
  readonly intent: TierReport["intent"];
  readonly readiness: TierReport["readiness"];
  readonly in_flight: number;
  /** True when nothing is in flight and nothing is admitted. */
  readonly drained: boolean;
  /** Whether the intent outlives this process. */
  readonly persisted: boolean;
  readonly dry_run: boolean;
}

/** A transition that did not come about, with what was observed. */
export interface TransitionRefused extends
  Refusal<
    "tier_unknown" | "drain_timeout" | "readmit_refused" | "intent_not_kept" | "router_draining"
  > {
  readonly observed: TierReport | null;
}

/** What transitions need. */
export interface TransitionPorts {
  readonly clock: Clock;
  readonly intents: IntentStore;
  readonly persisted: boolean;
  readonly prober: Prober;
}

const DRAIN_SECONDS = 30;
/** How often a drain looks at the count, in milliseconds. */
const LOOK_MS = 20;

/** Carries transitions out, one after the other. */
export class Transitions {
  readonly #core: Core;
  readonly #ports: TransitionPorts;
  #last: Promise<unknown> = Promise.resolve();

  constructor(core: Core, ports: TransitionPorts) {
    this.#core = core;
    this.#ports = ports;
  }

  /** Restores the quiesced side at start. Returns why every tier is quiesced, when that is so. */
  async restore(): Promise<string | null> {
    const restored = await this.#ports.intents.restore();
    for (const tier of this.#core.tiers.values()) {
      const quiesced = restored.kind === "unreadable" || restored.tiers.has(tier.config.id);
      if (quiesced) tier.setIntent("quiesce");
    }
    return restored.kind === "unreadable" ? restored.detail : null;
  }

  /** Carries one out and answers what was observed. */
  take(ask: TransitionAsk): Promise<Transitioned | TransitionRefused> {
    const taken = this.#last.then(() => this.#take(ask));
    this.#last = taken.catch(() => {});
    return taken;
  }

  async #take(ask: TransitionAsk): Promise<Transitioned | TransitionRefused> {
    const tier = this.#core.tiers.get(ask.tier);
    if (tier === undefined) {
      const known = [...this.#core.tiers.keys()].join(", ");
      return refused("tier_unknown", `no tier is called that; there are ${known}`, null);
    }
    if (this.#core.draining) {
      return refused("router_draining", "the router is stopping", tier.report());
    }
    if (ask.dry_run === true) return this.#observe(tier, true);
    switch (ask.action) {
      case "quiesce":
        return await this.#quiesce(tier) ?? this.#observe(tier, false);
      case "drain":
        return await this.#quiesce(tier) ?? await this.#drain(tier, ask.timeout_seconds);
      case "readmit":
        return await this.#readmit(tier);
    }
  }

  async #quiesce(tier: Tier): Promise<TransitionRefused | null> {
    const failure = await this.#keep(tier, true);
    if (failure !== null) return failure;
    tier.setIntent("quiesce");
    return null;
  }

  async #drain(tier: Tier, seconds = DRAIN_SECONDS): Promise<Transitioned | TransitionRefused> {
    const { clock } = this.#ports;
    const until = clock.monotonic() + seconds * 1000;
    while (tier.inFlight > 0) {
      if (clock.monotonic() >= until) {
        return refused(
          "drain_timeout",
          `${tier.inFlight} requests are still in flight after ${seconds} s; the tier stays quiesced`,
          tier.report(),
        );
      }
      await clock.sleep(LOOK_MS);
    }
    return this.#observe(tier, false);
  }

  async #readmit(tier: Tier): Promise<Transitioned | TransitionRefused> {
    // A tier that admits already keeps what is known of it: asking again must not interrupt it.
    if (tier.report().intent === "quiesce") {
      for (const { id } of tier.config.members) tier.observe(id, { kind: "epoch-moved" });
    }
    await Promise.all(tier.config.members.map((member) => this.#ports.prober.probe(tier, member)));
    const report = tier.report();
    if (report.readiness !== "ready") {
      const seen = report.members.map(({ id, state, observed }) => `${id} ${state}: ${observed}`);
      return refused(
        "readmit_refused",
        `expected ${tier.config.served_model}, observed ${seen.join("; ")}`,
        report,
      );
    }
    const failure = await this.#keep(tier, false);
    if (failure !== null) return failure;
    tier.setIntent("admit");
    return this.#observe(tier, false);
  }

  /** Writes the intents as they will be, before they are. */
  async #keep(changing: Tier, quiesced: boolean): Promise<TransitionRefused | null> {
    const names = [...this.#core.tiers.values()]
      .filter((tier) => tier === changing ? quiesced : tier.report().intent === "quiesce")
      .map((tier) => tier.config.id);
    const failure = await this.#ports.intents.save(names);
    return failure === null
      ? null
      : refused("intent_not_kept", failure.detail, changing.report(), failure.nextStep);
  }

  #observe(tier: Tier, dryRun: boolean): Transitioned {
    const { intent, readiness, in_flight } = tier.report();
    return {
      kind: "observed",
      tier: tier.config.id,
      intent,
      readiness,
      in_flight,
      drained: intent === "quiesce" && in_flight === 0,
      persisted: this.#ports.persisted,
      dry_run: dryRun,
    };
  }
}

function refused(
  code: TransitionRefused["code"],
  detail: string,
  observed: TierReport | null,
  nextStep?: string,
): TransitionRefused {
  return { ...refuse(code, detail, nextStep), observed };
}
