/**
 * `promotion.plan|apply|resume|status`: what an alias of this host's router means.
 *
 * @module
 */

import { z } from "zod";
import { refuse } from "../../../lib/core/refusal.ts";
import { digestOfId, EVIDENCE_ID_PATTERN, readEvidence } from "../../../lib/evidence/evidence.ts";
import { MOST_EVIDENCE_BYTES } from "../../../lib/evidence/evidence_shape.ts";
import {
  evidenceAgeDays,
  type NamedEvidence,
} from "../../../lib/serves/machines/promotion_evidence.ts";
import { planPromotion } from "../../../lib/serves/machines/promotion.ts";
import {
  defineMutation,
  defineRead,
  type Operation,
  type Ran,
} from "../../../lib/operation/operation.ts";
import {
  applied,
  CHANGE_MS,
  type ChangeParts,
  changeShape,
  changesOf,
  digestShape,
  drainShape,
  ended,
  journalled,
  PLAN_MS,
  planned,
  plannedShape,
  type Planner,
  reachedShape,
  surveyed,
} from "./change.ts";
import { CHANGE_HOSTS } from "../host_roles.ts";

const wishShape = z.strictObject({
  alias: z.string().min(1).max(256).describe("The model name clients send."),
  config: z.string().min(1).max(900_000).describe(
    "The whole router.toml in which the alias means what it shall mean.",
  ),
  evidence: z.strictObject({
    id: z.string().regex(EVIDENCE_ID_PATTERN, "expected the name of evidence, as ev-…"),
    document: z.string().min(1).max(MOST_EVIDENCE_BYTES).describe("The document, as it is kept."),
  }).describe("The measurement by which it is promoted: of that model, on this host."),
  drain_seconds: drainShape,
});

/** A plan, and how old that is by which it is made: of no age is it refused. */
const promotedShape = plannedShape.extend({
  evidence_age_days: z.int().describe(
    "Whole days since the benchmark ended; below 0: it is to come, by this host's clock.",
  ),
});

/** The four. */
export function promotionOperations(parts: ChangeParts): Operation[] {
  return [
    defineRead({
      name: "promotion.plan",
      brief: "The plan of giving an alias another model, with its digest; changes nothing",
      effect: "read",
      roles: CHANGE_HOSTS,
      deadlineMs: PLAN_MS,
      input: wishShape,
      output: promotedShape,
      run: (wish, { signal }) => plannedBy(parts, wish, signal),
    }),
    defineMutation({
      name: "promotion.apply",
      brief: "Carry out a promotion that was planned and looked at",
      effect: "mutate",
      destructive: true,
      roles: CHANGE_HOSTS,
      deadlineMs: CHANGE_MS,
      input: wishShape.extend({ plan: digestShape.describe("`digest` of the plan.") }),
      output: reachedShape,
      plan: async ({ plan: expected, ...wish }, { signal }) => {
        const plan = await plannedBy(parts, wish, signal);
        if (plan.kind !== "ok") return plan;
        return { kind: "ok", value: { ...plan.value, wish, expected } };
      },
      run: ({ expected, wish }, context) =>
        applied(parts, { expected, make: promoting(wish), config: wish.config }, context),
    }),
    defineMutation({
      name: "promotion.resume",
      brief: "Go on with a change that is stuck or was interrupted, or end it as it stands",
      effect: "mutate",
      destructive: true,
      roles: CHANGE_HOSTS,
      deadlineMs: CHANGE_MS,
      input: z.strictObject({
        change: z.string().regex(/^\d{6}-[a-z]+$/, "expected a change, as 000007-promote"),
        abandon: z.boolean().default(false).describe(
          "Ends it as it stands: somebody has seen to it by hand.",
        ),
      }),
      output: reachedShape,
      plan: async (wish) => {
        const record = await parts.store.record(wish.change);
        if ("kind" in record) return record;
        const ends_benchmark = wish.abandon ? null : parts.measuring();
        return { kind: "ok", value: { ...wish, state: record.state.at, ends_benchmark } };
      },
      run: async ({ change, abandon }, context) => {
        const { conductor } = parts;
        return abandon
          ? given(await conductor.abandon(change, context.principal))
          : ended(await conductor.resumeByPerson(change, journalled(context), context.signal));
      },
    }),
    defineRead({
      name: "promotion.status",
      brief:
        "Changes of this host, newest first: what was done, what is left, what stands against it",
      effect: "read",
      roles: CHANGE_HOSTS,
      deadlineMs: 10_000,
      input: z.strictObject({ most: z.int().min(1).max(64).default(5) }),
      output: z.strictObject({ live: z.string().nullable(), changes: z.array(changeShape) }),
      run: async ({ most }) => {
        const changes = await changesOf(parts.store, most);
        return changes.kind === "ok"
          ? { kind: "ok", value: { live: parts.conductor.live, changes: changes.value } }
          : changes;
      },
    }),
  ];
}

async function plannedBy(
  parts: ChangeParts,
  wish: z.infer<typeof wishShape>,
  signal: AbortSignal,
): Promise<Ran<z.infer<typeof promotedShape>>> {
  const plan = await planned(parts, promoting(wish), signal);
  if (plan.kind !== "ok") return plan;
  const evidence = await evidenceOf(wish);
  if ("kind" in evidence) return evidence;
  // Beside the plan, not in it: tomorrow it is the same plan.
  const evidence_age_days = evidenceAgeDays(evidence, parts.clock.now());
  return { kind: "ok", value: { ...plan.value, evidence_age_days } };
}

function promoting(wish: z.infer<typeof wishShape>): Planner {
  const { alias, config, drain_seconds: drainSeconds } = wish;
  return surveyed(async (seen, ports, signal) => {
    const evidence = await evidenceOf(wish);
    return await planPromotion(seen, { alias, config, evidence, drainSeconds }, ports, signal);
  });
}

/** The document that is named, by its digest: one that is anything else is not it. */
async function evidenceOf(
  { evidence: { id, document } }: z.infer<typeof wishShape>,
): Promise<NamedEvidence> {
  const bytes = new TextEncoder().encode(document);
  const read = await readEvidence(bytes, digestOfId(id) ?? "");
  if (read.kind === "ok") return read.model;
  const [first] = read.problems;
  return first?.code === "evidence_tampered"
    ? refuse("evidence_tampered", `the document is not ${id}`, FETCH)
    : refuse("evidence_invalid", `${first?.path}: ${first?.code}: ${first?.message}`, FETCH);
}

const FETCH = "fetch it again from this host: `anvil-operator evidence fetch`";

/** Ending a change by hand is what was asked for, so it is no failure. */
function given(end: Parameters<typeof ended>[0]): ReturnType<typeof ended> {
  return end.kind === "ended" && end.record.state.at === "abandoned"
    ? {
      kind: "ok",
      value: { change: end.record.id, subject: end.record.state.plan.subject, steps: [] },
    }
    : ended(end);
}
