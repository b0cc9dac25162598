/**
 * The state a person sees, by the seed's names. Derived each time; never stored.
 *
 *     idle -> candidate-seen -> closure-ready -> waiting-for-safe-window -> activating -> probing
 *          -> known-good | failed -> rollback -> rolled-back
 *
 * @module
 */

import type { Facts } from "./backend.ts";
import type { Slots } from "./slots.ts";

/** The names. */
export const VISIBLE_STATES = [
  "idle",
  "candidate-seen",
  "closure-ready",
  "waiting-for-safe-window",
  "activating",
  "probing",
  "known-good",
  "failed",
  "rollback",
  "rolled-back",
] as const;
/** One of {@link VISIBLE_STATES}. */
export type VisibleState = (typeof VISIBLE_STATES)[number];

/** What the slots and the facts look like from outside. `facts` null: nobody could tell. */
export function visibleState(slots: Slots, facts: Facts | null): VisibleState {
  const { attempt } = slots;
  if (attempt !== null && attempt.phase !== "ended") {
    switch (attempt.phase) {
      case "baseline":
        return "closure-ready";
      case "activate":
        return "activating";
      case "inspect":
        return attempt.condemned === null ? "activating" : "rollback";
      case "probe":
      case "commit":
        return "probing";
      case "revert":
      case "probe_reverted":
        return "rollback";
    }
  }
  if (slots.manual !== null) return "failed";
  if (slots.pending !== null) {
    return slots.pending.direction === "back" ? "rollback" : "waiting-for-safe-window";
  }
  const staged = slots.staged !== null && slots.staged.path !== facts?.current;
  if (staged && slots.waiting !== null) return "waiting-for-safe-window";
  if (staged) return "closure-ready";
  const ended = lastEnding(slots);
  if (ended !== null && tellsOfOffer(slots)) return ended;
  if (slots.offered !== null && !isHere(slots, facts)) return "candidate-seen";
  if (slots.proven !== null && slots.proven.path === facts?.current) return "known-good";
  return ended ?? "idle";
}

/** The last attempt, when what it was about is still the newest there is. */
function tellsOfOffer(slots: Slots): boolean {
  const { last, offered } = slots;
  return last !== null && offered !== null && last.ended_at >= offered.at;
}

function isHere(slots: Slots, facts: Facts | null): boolean {
  const { offered, proven } = slots;
  // The same target offered anew, under another number, is no other target.
  return proven !== null && proven.path === facts?.current && proven.path === offered?.candidate.id;
}

function lastEnding(slots: Slots): VisibleState | null {
  switch (slots.last?.ending.kind) {
    case "rolled-back":
      return "rolled-back";
    case "failed":
    case "manual-recovery":
    case "other-generation-booted":
      return "failed";
    case "refused":
      return slots.last.ending.code === "already_current" ? null : "failed";
    default:
      return null;
  }
}
