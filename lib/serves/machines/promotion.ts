/**
 * Promotion: one alias of this host's router is going to mean another model.
 *
 *     preflight ─> quiesce ─> drain ─> replace ─> identity ─> config install ─> readmit ─> promoted
 *        │            │         │         │           │              │             │
 *     refused         └─────────┴─────────┴──failed───┴──────────────┴─────────────┘
 *                                                 │
 *                 config back ─> replaced back ─> identity ─> readmit ─> as it was
 *
 * `replace` is stop, grant, start; `identity` is verify. A start of the agent in the middle
 * quiesces the tier again before anything else. Two digests of the same plan are equal; one that was
 * made from another manifest, topology, configuration or state of the serves is stale. A promotion
 * names the evidence it rests on, and so does its digest.
 *
 * @module
 */

import { type Refusal, refuse } from "../../core/refusal.ts";
import { INELIGIBLE, ineligible } from "../../topology/eligibility.ts";
import { type Serve, servedModel } from "../manifest_shape.ts";
import type { TierView } from "../tier_view.ts";
import { installSteps, judge } from "./config_install.ts";
import { evidenceNotes, type NamedEvidence, refuseEvidence } from "./promotion_evidence.ts";
import { differences, readRouterText } from "./router_text.ts";
import type { HostFacts, RouterPorts, Survey } from "./survey.ts";
import { type PlanPorts, planSwap } from "./swap.ts";
import type { Plan } from "./transaction.ts";

/** What is to be promoted. */
export interface PromotionWish {
  readonly alias: string;
  /** The whole `router.toml` in which the alias means what it shall mean. */
  readonly config: string;
  /** The measurement by which it is promoted, or why it could not be read. */
  readonly evidence: NamedEvidence;
  readonly drainSeconds: number;
}

/** Why a host may not back a promotion; null when it may. Asked in the plan and again in the apply. */
export function eligibility(
  { axes, node }: Pick<HostFacts, "axes" | "node">,
  serves: readonly Pick<Serve, "capability">[],
): Refusal | null {
  if (axes === null) {
    return refuse(
      "topology_unknown",
      "this agent knows no topology, so it cannot tell what its host may promise",
      "name `topology_file` in agent.toml",
    );
  }
  const capabilities = serves.length === 0 ? [undefined] : serves.map((one) => one.capability);
  const reasons = new Set(capabilities.flatMap((capability) => ineligible(axes, capability)));
  return reasons.size === 0 ? null : refuse(
    "promotion_ineligible",
    `${node}: ${[...reasons].map((reason) => INELIGIBLE[reason]).join("; ")}`,
    "promote on another host; this one may go on serving",
  );
}

/** The plan, or why there is none. */
export async function planPromotion(
  survey: Survey,
  wish: PromotionWish,
  ports: PlanPorts & { readonly router: Pick<RouterPorts, "admin" | "program"> | null },
  signal: AbortSignal,
): Promise<Plan | Refusal> {
  const { facts, router, running } = survey;
  // Before anything is read: a host that may not promise is refused whatever is asked.
  const never = eligibility(facts, []);
  if (never !== null) return never;
  const { evidence } = wish;
  if ("kind" in evidence) return evidence;
  if (router === null || ports.router === null) {
    return refuse("router_not_configured", "this agent knows no router", "add `[router]`");
  }
  const judged = await judge(ports.router.program, wish.config, signal);
  if (judged.kind === "refused") return judged;
  const read = readRouterText(wish.config);
  if (read.kind === "invalid") {
    return refuse("config_invalid", `${read.problems[0]?.path}: ${read.problems[0]?.code}`);
  }
  const [old, next] = [router.text, read.model];
  const oldTier = old.aliases.get(wish.alias) ?? null;
  const tier = next.tiers.get(next.aliases.get(wish.alias) ?? "");
  if (tier === undefined) {
    return refuse("alias_unknown", `the new configuration has no alias ${wish.alias}`);
  }
  const mine = [`aliases.${wish.alias}`, `tiers.${tier.id}`, `tiers.${oldTier}`];
  const foreign = differences(old, next).filter((one) => !mine.includes(one));
  if (foreign.length > 0) {
    return refuse(
      "promotion_touches_more",
      `beside ${wish.alias}, the new configuration changes ${foreign.join(", ")}`,
      "install that first by `router.config-install`, then promote",
    );
  }
  const sharing = [...next.aliases].filter(([alias, id]) =>
    alias !== wish.alias && id === tier.id && tier.id === oldTier
  ).map(([alias]) => alias);
  const serves = servesFor(facts.serves, tier);
  if ("kind" in serves) return serves;
  const no = eligibility(facts, serves);
  if (no !== null) return no;
  const unproven = refuseEvidence(evidence, facts.node, serves);
  if (unproven !== null) return unproven;
  const wanted = new Set(serves.map(({ name }) => name));
  const stillMeant = new Set(next.aliases.values());
  const leaves = (serve: Serve) =>
    !wanted.has(serve.name) && running.has(serve.name) &&
    ((serve.tier === oldTier && (oldTier === tier.id || !stillMeant.has(oldTier))) ||
      serve.tier === tier.id || serves.some(({ port }) => port === serve.port));
  return await planSwap(
    survey,
    {
      kind: "promote",
      subject: wish.alias,
      evidence: evidence.id,
      stops: facts.serves.filter(leaves).map(({ name }) => name),
      starts: [...wanted],
      drainSeconds: wish.drainSeconds,
      middle: installSteps(router.config.digest, judged.digest),
      tiersAfter: new Set(next.tiers.keys()),
      alsoTiers: [...new Set([tier.id, ...(oldTier === null ? [] : [oldTier])])],
      notes: [
        oldTier === null
          ? `${wish.alias} is new: it is going to mean tier ${tier.id}`
          : `${wish.alias}: tier ${oldTier} (${old.tiers.get(oldTier)?.servedModel}) becomes ` +
            `tier ${tier.id} (${tier.servedModel})`,
        ...(sharing.length > 0 ? [`the same tier is meant by ${sharing.join(", ")}`] : []),
        ...evidenceNotes(evidence),
      ],
    },
    ports,
    signal,
  );
}

/** The serves of the manifest that are going to answer for `tier`: one at least, each as it says. */
function servesFor(serves: readonly Serve[], tier: TierView): readonly Serve[] | Refusal {
  const own = serves.filter((serve) =>
    serve.tier === tier.id && servedModel(serve) === tier.servedModel &&
    tier.ports.includes(serve.port)
  );
  const missing = tier.ports.find((port) => !own.some((serve) => serve.port === port));
  return own.length > 0 && missing === undefined ? own : refuse(
    "tier_without_serve",
    `no serve of the manifest serves ${tier.servedModel} for tier ${tier.id}` +
      `${missing === undefined ? "" : ` on port ${missing}`}`,
    "declare it in serves.toml: tier, port and model as the tier says",
  );
}
