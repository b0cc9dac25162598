/**
 * The part that mode and promotion share: some serves go, some come, and no request notices but those
 * of the tiers concerned.
 *
 *     quiesce tiers ─> drain ─> stop ─> grant ─> start, verify ─> [middle] ─> readmit
 *
 * The way back is rehearsed before the way there: what is stopped must be able to start again.
 *
 * @module
 */

import { type Refusal, refuse } from "../../core/refusal.ts";
import type { Serve } from "../manifest_shape.ts";
import type { ServeHands } from "./ports.ts";
import type { Step } from "./step.ts";
import { boundTo, type RouterPorts, type Survey } from "./survey.ts";
import type { Kind, Plan } from "./transaction.ts";

/** What is wanted. */
export interface SwapWish {
  readonly kind: Kind;
  readonly subject: string;
  /** What a promotion rests on. */
  readonly evidence?: string;
  readonly stops: readonly string[];
  readonly starts: readonly string[];
  readonly drainSeconds: number;
  /** Steps between the last verify and the first readmit. */
  readonly middle: readonly Step[];
  /** Tiers of the new configuration, where it is another one. */
  readonly tiersAfter: ReadonlySet<string> | null;
  /** Tiers to take out of use and back besides those of the serves. */
  readonly alsoTiers: readonly string[];
  readonly notes: readonly string[];
}

/** What planning asks: nothing of it changes anything. */
export interface PlanPorts {
  readonly hands: Pick<ServeHands, "resolve" | "fits">;
  readonly router: Pick<RouterPorts, "admin" | "program"> | null;
}

/** The plan, or why there is none. */
export async function planSwap(
  survey: Survey,
  wish: SwapWish,
  { hands, router }: PlanPorts,
  signal: AbortSignal,
): Promise<Plan | Refusal> {
  const { facts, running } = survey;
  const order = dependencyOrder(facts.serves);
  const stops = order.filter((name) => wish.stops.includes(name) && running.has(name)).reverse();
  const starts = order.filter((name) => wish.starts.includes(name) && !running.has(name));
  const before = [...running];
  const after = [...before.filter((name) => !stops.includes(name)), ...starts];
  const broken = brokenDependency(facts.serves, after);
  if (broken !== null) return broken;

  for (const name of starts) {
    const no = await hands.resolve(name, signal);
    if (no !== null) return { ...no, detail: `${name} cannot start: ${no.detail}` };
  }
  for (const name of stops) {
    const no = await hands.resolve(name, signal);
    if (no !== null) return noWayBack(`${name} could not start again: ${no.code}, ${no.detail}`);
  }
  if (starts.length > 0) {
    const no = await hands.fits(starts, stops, signal);
    if (no !== null) return no;
  }
  if (stops.length > 0) {
    const no = await hands.fits(stops, stops, signal);
    if (no !== null) return noWayBack(`what runs now would not fit again: ${no.detail}`);
  }

  const touched = new Set([...stops, ...starts]);
  const tierOf = (name: string) => facts.serves.find((serve) => serve.name === name)?.tier ?? "";
  const known = new Map(survey.router?.report.tiers.map((tier) => [tier.tier, tier]) ?? []);
  const tiers = new Set([...[...touched].map(tierOf), ...wish.alsoTiers]);
  const within = (names: readonly string[], tier: string) =>
    names.filter((name) => tierOf(name) === tier).toSorted();
  const quiesced: string[] = [];
  for (const tier of [...tiers].toSorted()) {
    if (known.get(tier)?.intent !== "admit") continue;
    const no = await keptIntent(tier, router, signal);
    if (no !== null) return no;
    quiesced.push(tier);
  }
  const admitted = [...tiers].toSorted().filter((tier) =>
    (wish.tiersAfter ?? known).has(tier) && within(after, tier).length > 0
  );
  const steps: Step[] = [
    ...quiesced.map((tier): Step => ({ do: "quiesce", tier })),
    ...quiesced.map((tier): Step => ({ do: "drain", tier, seconds: wish.drainSeconds })),
    ...stops.map((serve): Step => ({ do: "stop", serve })),
    ...(starts.length > 0 ? [{ do: "grant" as const, serves: starts }] : []),
    ...starts.flatMap((serve): Step[] => [{ do: "start", serve }, { do: "verify", serve }]),
    ...wish.middle,
    ...admitted.map((tier): Step => ({ do: "readmit", tier, serves: within(after, tier) })),
  ];
  return {
    kind: wish.kind,
    node: facts.node,
    subject: wish.subject,
    evidence: wish.evidence ?? null,
    bound: boundTo(survey),
    steps: touched.size === 0 && wish.middle.length === 0 ? [] : steps,
    before: Object.fromEntries([...tiers].toSorted().map((tier) => [tier, within(before, tier)])),
    drain_seconds: wish.drainSeconds,
    notes: [
      ...wish.notes,
      ...(touched.size === 0 && wish.middle.length === 0 ? ["nothing is to be done"] : []),
      ...quiesced.filter((tier) => !admitted.includes(tier)).map((tier) =>
        `tier ${tier} stays quiesced: no serve of it runs afterwards`
      ),
      ...quiesced.filter((tier) => within(before, tier).length === 0).map((tier) =>
        `tier ${tier} has no serve now: should this be taken back, it stays quiesced`
      ),
      ...admitted.filter((tier) => known.get(tier)?.intent === "quiesce").map((tier) =>
        `tier ${tier} is quiesced now and is admitted at the end`
      ),
      ...(survey.router === null ? ["this agent knows no router: no tier is quiesced"] : []),
    ],
  };
}

/** A router that forgets what it was told admits a tier in the middle of the change. */
async function keptIntent(
  tier: string,
  router: PlanPorts["router"],
  signal: AbortSignal,
): Promise<Refusal | null> {
  if (router === null) return null;
  const told = await router.admin.transition({ tier, action: "quiesce", dryRun: true }, signal);
  if (told.kind === "refused") return told;
  return told.persisted ? null : refuse(
    "router_forgets_intent",
    `a restart of the router would admit tier ${tier} again`,
    "give the router a `[state]` folder",
  );
}

function noWayBack(detail: string): Refusal {
  return refuse(
    "rollback_impossible",
    detail,
    "mend that first, or stop the serve by `serves.down`",
  );
}

/** What depends on another comes after it. */
export function dependencyOrder(serves: readonly Serve[]): readonly string[] {
  const order: string[] = [];
  const visit = (name: string) => {
    const serve = serves.find((one) => one.name === name);
    if (serve === undefined || order.includes(name)) return;
    for (const needed of serve.depends) if (needed !== name) visit(needed);
    if (!order.includes(name)) order.push(name);
  };
  for (const { name } of serves) visit(name);
  return order;
}

function brokenDependency(serves: readonly Serve[], after: readonly string[]): Refusal | null {
  for (const name of after) {
    const needed = serves.find((serve) => serve.name === name)?.depends ?? [];
    const missing = needed.find((one) => !after.includes(one));
    if (missing !== undefined) {
      return refuse("dependency_down", `${name} depends on ${missing}, which would not run`);
    }
  }
  return null;
}
