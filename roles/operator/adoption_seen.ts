/**
 * What a host said of its adoption, as far as a fleet is looked at: how fresh, what is known good,
 * whether a boot is pending, what was refused last.
 *
 * Unknown is not no: a host that was not asked, or did not answer, has no verdict; what it said
 * before is told beside that, never instead.
 *
 * @module
 */

import { z } from "zod";
import type { Json } from "../../lib/core/canonical_json.ts";
import type { Outcome } from "../../lib/dispatch/outcome.ts";
import { ageText } from "./age.ts";

/** The operation that tells it. */
export const CANDIDATES_STATUS = "candidates.status";

const FRESHNESS = ["fresh", "aging", "stale", "unknown"] as const;

/** What is kept of it between two looks. */
export const adoptionShape = z.strictObject({
  freshness: z.enum(FRESHNESS),
  why: z.string().max(1024),
  state: z.string().max(64),
  known_good_rev: z.string().max(256).nullable(),
  known_good_at: z.string().max(64).nullable(),
  offered_at: z.string().max(64).nullable(),
  pending_boot_since: z.string().max(64).nullable(),
  last_refusal: z.strictObject({ code: z.string().max(128), at: z.string().max(64) }).nullable(),
});
/** What a host said of its adoption. */
export type Adoption = z.infer<typeof adoptionShape>;

/** Of one look. */
export type AdoptionSeen =
  | { readonly kind: "known"; readonly adoption: Adoption }
  /** The agent has no such operation: `agent.toml` names no adopter. */
  | { readonly kind: "no_adopter" }
  | { readonly kind: "unknown"; readonly code: string; readonly detail: string };

const at = z.looseObject({ at: z.string() }).nullable();
const statusShape = z.looseObject({
  freshness: z.enum(FRESHNESS).catch("unknown"),
  why: z.string(),
  state: z.string(),
  offered: at,
  proven: z.looseObject({ rev: z.string(), at: z.string() }).nullable(),
  pending_boot: z.looseObject({ since: z.string() }).nullable(),
  last: z.looseObject({ ending: z.string(), code: z.string(), ended_at: z.string() }).nullable(),
  failures: z.array(z.looseObject({ code: z.string(), last: z.string() })).default([]),
});

/** Endings that refuse nothing. */
const FINE: readonly string[] = ["known-good", "deferred", "pending-boot"];

/** Reads an outcome of {@link CANDIDATES_STATUS}; null: it was not asked. */
export function adoptionOf(outcome: Outcome | null): AdoptionSeen {
  if (outcome === null) return unknown("interrupted", "the command was ended before");
  if (outcome.kind !== "done") return unknown(outcome.code ?? outcome.kind, outcome.detail);
  const read = statusShape.safeParse(outcome.result);
  if (!read.success) {
    return unknown("answer_unreadable", "the status has another shape than this operator knows");
  }
  const { freshness, why, state, offered, proven, pending_boot, last, failures } = read.data;
  const refusals = [
    ...failures.map(({ code, last }) => ({ code, at: last })),
    ...(last === null || FINE.includes(last.ending)
      ? []
      : [{ code: last.code, at: last.ended_at }]),
  ].sort((left, right) => left.at < right.at ? 1 : -1);
  const shaped = adoptionShape.safeParse({
    freshness,
    why,
    state,
    known_good_rev: proven?.rev ?? null,
    known_good_at: proven?.at ?? null,
    offered_at: offered?.at ?? null,
    pending_boot_since: pending_boot?.since ?? null,
    last_refusal: refusals[0] ?? null,
  });
  return shaped.success
    ? { kind: "known", adoption: shaped.data }
    : unknown("answer_unreadable", "the status is longer than this operator takes");
}

function unknown(code: string, detail: string): AdoptionSeen {
  return { kind: "unknown", code, detail };
}

/** ADOPTION, KNOWN GOOD, BOOT, REFUSED. `before`: what was said at an earlier look. */
export function adoptionCells(
  seen: AdoptionSeen,
  before: Adoption | null,
  now: number,
): readonly string[] {
  if (seen.kind === "no_adopter") return ["no adopter", "-", "-", "-"];
  const said = seen.kind === "known" ? seen.adoption : before;
  if (said === null) return ["unknown", "unknown", "unknown", "unknown"];
  const ago = (time: string) => `${ageText(now - Date.parse(time))} ago`;
  const { known_good_rev: rev, known_good_at, pending_boot_since: boot, last_refusal } = said;
  const cells = [
    rev === null ? "none" : `${rev.slice(0, 12)} ${ago(known_good_at ?? "")}`,
    boot === null ? "no" : `pending ${ageText(now - Date.parse(boot))}`,
    last_refusal === null ? "none" : `${last_refusal.code} ${ago(last_refusal.at)}`,
  ];
  return seen.kind === "known"
    ? [said.freshness, ...cells]
    : [`unknown, was ${said.freshness}`, ...cells.map((cell) => `was ${cell}`)];
}

/** The same for programs. */
export function adoptionData(seen: AdoptionSeen, before: Adoption | null, now: number): Json {
  const said = seen.kind === "known" ? seen.adoption : null;
  const seconds = (time: string | null | undefined) =>
    time === null || time === undefined ? null : Math.floor((now - Date.parse(time)) / 1000);
  return {
    known: seen.kind === "known",
    adopter: seen.kind === "unknown" ? null : seen.kind === "known",
    code: seen.kind === "unknown" ? seen.code : null,
    detail: seen.kind === "unknown" ? seen.detail : null,
    freshness: said?.freshness ?? "unknown",
    why: said?.why ?? null,
    state: said?.state ?? null,
    known_good_rev: said?.known_good_rev ?? null,
    pending_boot: said === null ? null : said.pending_boot_since !== null,
    last_refusal: said?.last_refusal ?? null,
    ages_seconds: {
      known_good: seconds(said?.known_good_at),
      offered: seconds(said?.offered_at),
      pending_boot: seconds(said?.pending_boot_since),
      last_refusal: seconds(said?.last_refusal?.at),
    },
    before: said === null ? before : null,
  };
}
