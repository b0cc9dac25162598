/**
 * What the end of an attempt does to every slot.
 *
 * @module
 */

import type { Reason } from "./gate.ts";
import { reject } from "./rejection.ts";
import type { Attempt, Ending, EndingKind, RejectionClass, Slots } from "./slots.ts";
import type { Evidence } from "./verdict.ts";

/** An ending, and what follows from it. */
export interface EndingParts {
  readonly kind: EndingKind;
  readonly code: string;
  readonly detail: string;
  readonly at: string;
  readonly reasons?: readonly Reason[];
  readonly evidence?: Evidence | null;
  /** Whose fault, when the candidate is not to be tried again just so. */
  readonly class?: RejectionClass | null;
  readonly boot?: { readonly direction: "forward" | "back"; readonly boot_id: string };
}

/** The slots once `attempt` has ended; it stays until its receipt is written. */
export function attemptEnded(slots: Slots, attempt: Attempt, parts: EndingParts): Slots {
  if (attempt.phase === "ended") return slots;
  const { kind, code, detail, at } = parts;
  const ending: Ending = {
    kind,
    code,
    detail,
    reasons: parts.reasons ?? [],
    evidence: parts.evidence ?? null,
  };
  const { id, candidate, path } = attempt;
  const ended: Slots = {
    ...slots,
    attempt: { ...attempt, phase: "ended", ending },
    last: {
      attempt: id,
      purpose: attempt.purpose,
      path,
      previous: attempt.previous,
      rev: candidate?.rev ?? null,
      by: attempt.by,
      overrides: attempt.overrides,
      began_at: attempt.began_at,
      ended_at: at,
      ending,
    },
    rejected: rejectedBy(slots, attempt, parts),
    waiting: kind === "deferred" ? waitedOn(slots, ending.reasons, at) : null,
  };
  switch (kind) {
    case "known-good":
      return {
        ...ended,
        proven: {
          path,
          rev: candidate?.rev ?? (slots.proven?.path === path ? slots.proven.rev : "unknown"),
          sequence: candidate?.sequence ?? 0,
          committed_at: candidate?.committed_at ?? "",
          at,
          attempt: id,
        },
        staged: slots.staged?.path === path ? null : slots.staged,
        // A later userspace candidate may be proven while a kernel still waits for its boot.
        pending: pendingAfter(slots, attempt),
      };
    case "pending-boot":
      return {
        ...ended,
        staged: slots.staged?.path === path ? null : slots.staged,
        pending: {
          path: parts.boot?.direction === "back"
            ? attempt.revert_to ?? attempt.previous ?? ""
            : path,
          candidate: parts.boot?.direction === "back" ? null : candidate,
          direction: parts.boot?.direction ?? "forward",
          previous: attempt.previous,
          revert_to: attempt.revert_to,
          baseline: attempt.baseline,
          boot_id: parts.boot?.boot_id ?? "",
          since: at,
        },
      };
    case "rolled-back":
      return { ...ended, staged: withoutPath(slots, path), pending: null };
    case "refused":
    case "failed":
      return {
        ...ended,
        staged: (parts.class ?? null) === null ? slots.staged : withoutPath(slots, path),
      };
    case "superseded":
      return { ...ended, pending: null };
    case "manual-recovery":
      // A boot is judged once: after a person looked, it is not judged again.
      return {
        ...ended,
        manual: { attempt: id, code, detail, at },
        pending: attempt.purpose === "adopt" ? slots.pending : null,
      };
    default:
      return ended;
  }
}

/** A reason list that waits, since when. */
export function waitedOn(slots: Slots, reasons: readonly Reason[], at: string): Slots["waiting"] {
  const before = slots.waiting;
  return {
    since: before?.since ?? at,
    last: at,
    count: (before?.count ?? 0) + 1,
    reasons,
  };
}

function withoutPath(slots: Slots, path: string): Slots["staged"] {
  return slots.staged?.path === path ? null : slots.staged;
}

function pendingAfter(slots: Slots, attempt: Attempt): Slots["pending"] {
  // A proof moves nothing: what waits for a boot goes on waiting.
  if (attempt.purpose === "prove") return slots.pending;
  if (attempt.purpose !== "adopt" || slots.pending === null) return null;
  const brings = attempt.baseline?.boot_pending === true;
  return brings ? { ...slots.pending, path: attempt.path, candidate: attempt.candidate } : null;
}

function rejectedBy(slots: Slots, attempt: Attempt, parts: EndingParts): Slots["rejected"] {
  const cls = parts.class ?? null;
  const { candidate } = attempt;
  if (attempt.purpose === "back") return leftBehind(slots, attempt, parts);
  if (candidate === null) return slots.rejected;
  if (parts.kind === "known-good") return slots.rejected.filter(({ id }) => id !== candidate.id);
  if (cls === null) return slots.rejected;
  const fault = {
    id: candidate.id,
    sequence: candidate.sequence,
    class: cls,
    code: parts.code,
    detail: parts.detail,
  };
  return reject(slots.rejected, fault, Date.parse(parts.at));
}

/** What was left for a proven one is rejected already, by its proof: now it is known whose fault it is. */
function leftBehind(slots: Slots, { previous }: Attempt, parts: EndingParts): Slots["rejected"] {
  const left = slots.rejected.find(({ id }) => id === previous);
  if (left === undefined || parts.kind !== "rolled-back" || parts.class !== "candidate") {
    return slots.rejected;
  }
  const { code, detail } = parts;
  return reject(
    slots.rejected,
    { ...left, class: "candidate", code, detail },
    Date.parse(parts.at),
  );
}
