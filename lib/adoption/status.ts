/**
 * The summary anybody may read, and what it means at the time it is read.
 *
 * @module
 */

import { z } from "zod";
import type { Facts } from "./backend.ts";
import type { Policy } from "./policy.ts";
import { REBOOT_POLICIES } from "./reboot.ts";
import { ENDINGS, type Slots } from "./slots.ts";
import { VISIBLE_STATES, visibleState } from "./visible.ts";

const target = z.strictObject({
  path: z.string(),
  rev: z.string(),
  sequence: z.int(),
  at: z.string(),
});
const reason = z.strictObject({
  gate: z.string(),
  state: z.enum(["busy", "unknown", "rule"]),
  code: z.string(),
  detail: z.string(),
  observed_at: z.string(),
});

/** The summary. Every time is ISO 8601; ages are made when it is read. */
export const summaryShape = z.strictObject({
  schema: z.literal(1),
  host: z.string(),
  backend: z.enum(["nixos", "bundle"]),
  channel: z.string(),
  policy: z.enum(["rolling", "stage-only", "manual", "none"]),
  reboot_policy: z.enum(REBOOT_POLICIES),
  state: z.enum(VISIBLE_STATES),
  current: z.string().nullable().describe("What runs; null: nobody could tell."),
  current_rev: z.string().nullable().describe("Its revision, when it was proven here."),
  booted: z.string().nullable(),
  offered: target.nullable().describe("The newest offer; `at` is when it was first seen."),
  offer_expires_at: z.string().nullable(),
  staged: target.nullable(),
  proven: target.nullable().describe("Last known good."),
  pending_boot: z.strictObject({
    path: z.string(),
    direction: z.enum(["forward", "back"]),
    since: z.string(),
  }).nullable(),
  attempt: z.strictObject({ id: z.string(), phase: z.string(), began_at: z.string() }).nullable(),
  last: z.strictObject({
    attempt: z.string(),
    path: z.string(),
    rev: z.string().nullable(),
    ended_at: z.string(),
    ending: z.enum(ENDINGS),
    code: z.string(),
    detail: z.string(),
  }).nullable(),
  waiting_since: z.string().nullable(),
  blocked_by: z.array(reason).describe("Every reason why what is staged waits."),
  rejected: z.array(z.strictObject({
    id: z.string(),
    class: z.enum(["integrity", "candidate", "environment"]),
    code: z.string(),
    retry_at: z.string().nullable(),
  })),
  paused: z.strictObject({
    by: z.string(),
    reason: z.string(),
    until: z.string().nullable(),
  }).nullable(),
  manual_recovery: z.strictObject({ code: z.string(), detail: z.string(), at: z.string() })
    .nullable(),
  running_withdrawn: z.boolean().describe("The publisher took back what runs."),
  contact: z.strictObject({ at: z.string(), ok_at: z.string().nullable(), code: z.string() })
    .nullable().describe("When the publisher was last asked, and what came of it."),
  next_attempt: z.string().nullable().describe("When something that waits for a time may go on."),
  stale_after_seconds: z.int(),
  updated_at: z.string(),
});

/** The summary. */
export type Summary = z.infer<typeof summaryShape>;

/** What a host's status is besides its slots. */
export interface StatusParts {
  readonly host: string;
  readonly backend: Summary["backend"];
  readonly channel: string;
  readonly policy: Policy;
  readonly rebootPolicy: Summary["reboot_policy"];
  readonly staleAfterMs: number;
  readonly contact: Summary["contact"];
  readonly now: number;
}

/** The summary of `slots` and `facts`; `facts` null: nobody could tell what runs. */
export function summarize(slots: Slots, facts: Facts | null, parts: StatusParts): Summary {
  const { offered, staged, proven, pending, attempt, last } = slots;
  const current = facts?.current ?? null;
  const isProven = proven !== null && proven.path === current;
  return {
    schema: 1,
    host: parts.host,
    backend: parts.backend,
    channel: parts.channel,
    policy: parts.policy,
    reboot_policy: parts.rebootPolicy,
    state: visibleState(slots, facts),
    current,
    current_rev: isProven ? proven.rev : null,
    booted: facts?.booted ?? null,
    offered: offered === null ? null : {
      path: offered.candidate.id,
      rev: offered.candidate.rev,
      sequence: offered.candidate.sequence,
      at: offered.at,
    },
    offer_expires_at: offered?.candidate.expires_at ?? null,
    staged: staged === null ? null : {
      path: staged.path,
      rev: staged.candidate.rev,
      sequence: staged.candidate.sequence,
      at: staged.at,
    },
    proven: proven === null
      ? null
      : { path: proven.path, rev: proven.rev, sequence: proven.sequence, at: proven.at },
    pending_boot: pending === null
      ? null
      : { path: pending.path, direction: pending.direction, since: pending.since },
    attempt: attempt === null
      ? null
      : { id: attempt.id, phase: attempt.phase, began_at: attempt.began_at },
    last: last === null ? null : {
      attempt: last.attempt,
      path: last.path,
      rev: last.rev,
      ended_at: last.ended_at,
      ending: last.ending.kind,
      code: last.ending.code,
      detail: last.ending.detail,
    },
    waiting_since: slots.waiting?.since ?? null,
    blocked_by: [...slots.waiting?.reasons ?? []],
    rejected: slots.rejected.map(({ id, class: cls, code, retry_at }) => ({
      id,
      class: cls,
      code,
      retry_at,
    })),
    paused: slots.pause === null
      ? null
      : { by: slots.pause.by, reason: slots.pause.reason, until: slots.pause.until },
    manual_recovery: slots.manual === null
      ? null
      : { code: slots.manual.code, detail: slots.manual.detail, at: slots.manual.at },
    running_withdrawn: current !== null && slots.withdrawn.includes(current),
    contact: parts.contact,
    next_attempt: nextAttempt(slots, parts.now),
    stale_after_seconds: Math.round(parts.staleAfterMs / 1000),
    updated_at: new Date(parts.now).toISOString(),
  };
}

/** The latest of what has to pass before what is staged may go on; null when nothing of the kind. */
function nextAttempt(slots: Slots, now: number): string | null {
  const id = slots.staged?.candidate.id ?? slots.offered?.candidate.id;
  const times = [
    slots.pause?.until ?? null,
    slots.rejected.find((one) => one.id === id)?.retry_at ?? null,
  ].filter((time) => time !== null && Date.parse(time) > now);
  return times.toSorted().at(-1) ?? null;
}

/** How old what runs is, in one word. */
export const FRESHNESS = ["fresh", "aging", "stale", "unknown"] as const;
/** One of {@link FRESHNESS}. */
export type Freshness = (typeof FRESHNESS)[number];

/** What a summary means at `now`. */
export interface Read {
  readonly freshness: Freshness;
  /** One sentence: why. */
  readonly why: string;
  /** Seconds since, made now; null: there is nothing. */
  readonly ages: { readonly [of: string]: number | null };
}

/** Reads a summary: an old node is visibly old, never silently. */
export function readSummary(summary: Summary, now: number): Read {
  const age = (time: string | null | undefined) =>
    time === null || time === undefined
      ? null
      : Math.max(0, Math.floor((now - Date.parse(time)) / 1000));
  const ages = {
    offered: age(summary.offered?.at),
    proven: age(summary.proven?.at),
    waiting: age(summary.waiting_since),
    pending_boot: age(summary.pending_boot?.since),
    last: age(summary.last?.ended_at),
    contact: age(summary.contact?.ok_at),
    summary: age(summary.updated_at),
  };
  const is = (freshness: Freshness, why: string): Read => ({ freshness, why, ages });
  const stale = summary.stale_after_seconds;
  if (summary.current === null) return is("unknown", "nobody could tell what runs");
  if (ages.contact === null) return is("unknown", "the publisher never answered");
  if (ages.contact > stale) return is("stale", "the publisher has not answered for so long");
  if (summary.offer_expires_at !== null && Date.parse(summary.offer_expires_at) <= now) {
    return is("stale", "the newest offer has expired");
  }
  if ((ages.waiting ?? 0) > stale) return is("stale", "a candidate has waited for so long");
  if ((ages.pending_boot ?? 0) > stale) return is("stale", "a boot has been pending for so long");
  const newest = summary.offered === null || summary.offered.path === summary.current;
  if (newest) return is("fresh", "what runs is the newest there is");
  return (ages.offered ?? 0) > stale
    ? is("stale", "a newer candidate has been there for so long")
    : is("aging", "a newer candidate is there");
}
