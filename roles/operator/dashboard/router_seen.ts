/**
 * What a host's router said of its tiers, as far as a page shows it. Bounded: a router may say more
 * than anybody looks at.
 *
 * @module
 */

import { z } from "zod";
import type { Outcome } from "../../../lib/dispatch/outcome.ts";

/** Tiers of one router that are shown, and members of one tier. */
const MOST_TIERS = 64;
const MOST_MEMBERS = 16;
const text = z.string().transform((one) => one.slice(0, 128));

const memberShape = z.looseObject({ id: text, state: text, observed: text.catch("") });
const tierShape = z.looseObject({
  tier: text,
  intent: z.enum(["admit", "quiesce"]),
  readiness: z.enum(["ready", "not_ready"]),
  in_flight: z.int(),
  waiting: z.int().catch(0),
  members: z.array(memberShape).catch([]),
});
const paceShape = z.looseObject({
  tier: text,
  requests: z.int(),
  failed: z.int(),
  duration_ms: z.looseObject({ p50: z.number(), p95: z.number() }).nullable(),
});
const statusShape = z.looseObject({
  draining: z.boolean(),
  tiers: z.array(tierShape),
  /** A router of before this dashboard tells none. */
  paces: z.array(paceShape).catch([]),
});

/** One tier. */
export interface TierSeen {
  readonly tier: string;
  readonly intent: "admit" | "quiesce";
  readonly ready: boolean;
  readonly inFlight: number;
  readonly waiting: number;
  readonly members: readonly { readonly id: string; readonly state: string }[];
  /** Of requests that ended in the last minute; null: there were none, or the router does not tell. */
  readonly p95Ms: number | null;
}

/** The router of a host. */
export type RouterSeen =
  | { readonly kind: "told"; readonly draining: boolean; readonly tiers: readonly TierSeen[] }
  /** The agent has no such operation, or knows no router. */
  | { readonly kind: "none" }
  | { readonly kind: "unknown"; readonly code: string; readonly detail: string };

/** Codes of an agent that has no router to ask. */
const NO_ROUTER: readonly (string | null)[] = ["operation_absent", "router_not_configured"];

/** Reads an outcome of `router.status`. */
export function routerOf(outcome: Outcome | undefined): RouterSeen {
  if (outcome === undefined) return unknown("interrupted", "the look was ended before");
  if (NO_ROUTER.includes(outcome.code)) return { kind: "none" };
  if (outcome.kind !== "done") return unknown(outcome.code ?? outcome.kind, outcome.detail);
  const result = z.looseObject({ status: statusShape }).safeParse(outcome.result);
  if (!result.success) {
    return unknown("answer_unreadable", "the status has another shape than this operator knows");
  }
  const { draining, tiers, paces } = result.data.status;
  return {
    kind: "told",
    draining,
    tiers: tiers.slice(0, MOST_TIERS).map((one) => ({
      tier: one.tier,
      intent: one.intent,
      ready: one.readiness === "ready",
      inFlight: one.in_flight,
      waiting: one.waiting,
      members: one.members.slice(0, MOST_MEMBERS).map(({ id, state }) => ({ id, state })),
      p95Ms: paces.find(({ tier }) => tier === one.tier)?.duration_ms?.p95 ?? null,
    })),
  };
}

/** Requests in flight over all tiers; null when the router did not tell. */
export function inFlightOf(router: RouterSeen): number | null {
  if (router.kind !== "told") return null;
  return router.tiers.reduce((sum, { inFlight }) => sum + inFlight, 0);
}

/** The slowest tier's p95 of the last minute, in milliseconds; null when there is none. */
export function latencyOf(router: RouterSeen): number | null {
  if (router.kind !== "told") return null;
  const all = router.tiers.flatMap(({ p95Ms }) => p95Ms ?? []);
  return all.length === 0 ? null : Math.max(...all);
}

function unknown(code: string, detail: string): RouterSeen {
  return { kind: "unknown", code, detail };
}
