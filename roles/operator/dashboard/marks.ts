/**
 * Moments in the adoption of one host: what its adopter told, gathered over looks, so that what a
 * status no longer tells stays on the timeline while the dashboard runs.
 *
 * @module
 */

import { z } from "zod";
import type { Outcome } from "../../../lib/dispatch/outcome.ts";
import type { Adoption } from "../adoption_seen.ts";

/** What a moment was. */
export const MARK_KINDS = ["offered", "proven", "pending", "refused", "attempt"] as const;
/** One of {@link MARK_KINDS}. */
export type MarkKind = (typeof MARK_KINDS)[number];

/** One moment. */
export interface Mark {
  readonly kind: MarkKind;
  /** Wall clock, milliseconds. */
  readonly at: number;
  /** A revision or a code; the host's words. */
  readonly what: string;
}

/** Moments that are kept of one host: the newest. */
export const MOST_MARKS = 24;

const at = z.looseObject({ at: z.string(), rev: z.string().catch("") }).nullable().catch(null);
const statusShape = z.looseObject({
  offered: at,
  proven: at,
  pending_boot: z.looseObject({ since: z.string() }).nullable().catch(null),
  attempt: z.looseObject({ began_at: z.string(), phase: z.string() }).nullable().catch(null),
  last: z.looseObject({ ended_at: z.string(), ending: z.string(), code: z.string() }).nullable()
    .catch(null),
  failures: z.array(z.looseObject({ code: z.string(), last: z.string() })).catch([]),
});

/** Endings of an attempt that the proven revision tells already, or that are none. */
const TOLD_ELSEWHERE: readonly string[] = ["known-good", "deferred", "pending-boot"];

/** The moments in an outcome of `candidates.status`; none when it tells nothing. */
export function marksOf(outcome: Outcome | undefined): readonly Mark[] {
  const read = statusShape.safeParse(outcome?.kind === "done" ? outcome.result : null);
  if (!read.success) return [];
  const { offered, proven, pending_boot, attempt, last, failures } = read.data;
  return [
    mark("offered", offered?.at, offered?.rev ?? ""),
    mark("proven", proven?.at, proven?.rev ?? ""),
    mark("pending", pending_boot?.since, "a boot is pending"),
    mark("attempt", attempt?.began_at, attempt?.phase ?? ""),
    last === null || TOLD_ELSEWHERE.includes(last.ending)
      ? []
      : mark("refused", last.ended_at, last.code),
    ...failures.slice(0, 8).map(({ code, last }) => mark("refused", last, code)),
  ].flat();
}

/** What was remembered of a host before this process looked. */
export function marksBefore(adoption: Adoption | null): readonly Mark[] {
  if (adoption === null) return [];
  return [
    mark("offered", adoption.offered_at, ""),
    mark("proven", adoption.known_good_at, adoption.known_good_rev ?? ""),
    mark("pending", adoption.pending_boot_since, "a boot is pending"),
    mark("refused", adoption.last_refusal?.at, adoption.last_refusal?.code ?? ""),
  ].flat();
}

/** Both, oldest first, each moment once, the newest {@link MOST_MARKS}. */
export function joinMarks(held: readonly Mark[], told: readonly Mark[]): readonly Mark[] {
  const fresh = told.filter((one) =>
    !held.some((had) => had.kind === one.kind && had.at === one.at && had.what === one.what)
  );
  if (fresh.length === 0) return held;
  return [...held, ...fresh].sort((left, right) => left.at - right.at).slice(-MOST_MARKS);
}

function mark(kind: MarkKind, at: string | null | undefined, what: string): readonly Mark[] {
  const ms = Date.parse(at ?? "");
  return Number.isNaN(ms) ? [] : [{ kind, at: ms, what: what.slice(0, 128) }];
}
