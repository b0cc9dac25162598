/**
 * What `candidates.status` shows of the adopter's own status. Fields it does not know are left out:
 * an adopter may be newer than the agent that asks it.
 *
 * @module
 */

import { z } from "zod";

const target = z.object({ path: z.string(), rev: z.string(), at: z.string() }).nullable();
const seconds = z.int().nullable().default(null);

/** The status of a host's adoption. */
export const candidatesStatusShape = z.object({
  host: z.string(),
  backend: z.string(),
  channel: z.string(),
  policy: z.string(),
  reboot_policy: z.string(),
  state: z.string(),
  freshness: z.enum(["fresh", "aging", "stale", "unknown"]).catch("unknown"),
  why: z.string().describe("Why it is as fresh as it is."),
  ages_seconds: z.object({
    offered: seconds,
    proven: seconds,
    waiting: seconds,
    pending_boot: seconds,
    last: seconds,
    contact: seconds,
    summary: seconds,
  }).describe("Seconds since, made when it was read; null: there is nothing."),
  current: z.string().nullable().describe("What runs; null: nobody could tell."),
  current_rev: z.string().nullable(),
  offered: target,
  staged: target,
  proven: target.describe("Last known good."),
  pending_boot: z.object({ path: z.string(), direction: z.string(), since: z.string() }).nullable(),
  attempt: z.object({ id: z.string(), phase: z.string(), began_at: z.string() }).nullable(),
  last: z.object({
    attempt: z.string(),
    path: z.string(),
    rev: z.string().nullable(),
    ended_at: z.string(),
    ending: z.string(),
    code: z.string(),
    detail: z.string(),
  }).nullable(),
  waiting_since: z.string().nullable(),
  blocked_by: z.array(z.object({
    gate: z.string(),
    state: z.string(),
    code: z.string(),
    detail: z.string(),
    observed_at: z.string(),
  })),
  rejected: z.array(z.object({
    id: z.string(),
    class: z.string(),
    code: z.string(),
    retry_at: z.string().nullable(),
  })),
  paused: z.object({ by: z.string(), reason: z.string(), until: z.string().nullable() }).nullable(),
  manual_recovery: z.object({ code: z.string(), detail: z.string(), at: z.string() }).nullable(),
  running_withdrawn: z.boolean(),
  next_attempt: z.string().nullable(),
  updated_at: z.string(),
  failures: z.array(z.object({
    unit: z.string(),
    code: z.string(),
    since: z.string(),
    last: z.string(),
    count: z.int(),
    detail: z.string(),
  })).describe("Failure markers that stand."),
  unreadable: z.array(z.string()).describe("What the agent's user may not read; then it is less."),
});

/** The status of a host's adoption. */
export type CandidatesStatus = z.infer<typeof candidatesStatusShape>;
