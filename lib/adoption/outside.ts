/**
 * Events that come from outside an attempt: offers, words of people, the begin of an attempt.
 *
 * @module
 */

import { attemptEnded, waitedOn } from "./ended.ts";
import type { Began, Event } from "./event.ts";
import { reject } from "./rejection.ts";
import type { Attempt, Slots } from "./slots.ts";

/** The slots after `event`; null when it is an answer to an effect. */
export function outside(slots: Slots, event: Event): Slots | null {
  switch (event.kind) {
    case "snapshot":
      return event.slots;
    case "offered":
      return offered(slots, event);
    case "taken_back":
      return takenBack(slots, event);
    case "staged":
      return {
        ...slots,
        staged: { candidate: event.candidate, path: event.path, at: event.at },
        rejected: slots.rejected.filter(({ id, class: cls }) =>
          id !== event.candidate.id || cls !== "environment"
        ),
      };
    case "rejected":
      return { ...slots, rejected: reject(slots.rejected, event, Date.parse(event.at)) };
    case "unrejected":
      return { ...slots, rejected: slots.rejected.filter(({ id }) => id !== event.id) };
    case "paused":
      return { ...slots, pause: event.pause };
    case "resumed":
      return { ...slots, pause: null };
    case "recovered":
      return { ...slots, manual: null };
    case "waited":
      return { ...slots, waiting: waitedOn(slots, event.reasons, event.at) };
    case "nothing_waits":
      return { ...slots, waiting: null };
    case "boot_cancelled":
      return slots.attempt === null ? { ...slots, pending: null } : slots;
    case "boot_other":
      return bootedOther(slots, event);
    case "began":
      return slots.attempt === null ? { ...slots, attempt: begun(slots, event) } : slots;
    default:
      return null;
  }
}

function offered(slots: Slots, event: Extract<Event, { kind: "offered" }>): Slots {
  const { candidate, withdrawn, at, payload_digest } = event;
  const staged = withoutWithdrawn(slots.staged, withdrawn);
  // The same bytes offered anew: what is staged carries the newest word about them.
  const renewed = staged?.candidate.id === candidate.id ? { ...staged, candidate } : staged;
  const first = slots.offered?.candidate.id === candidate.id ? slots.offered.at : at;
  return {
    ...slots,
    floor: {
      ...slots.floor,
      [candidate.channel]: { sequence: candidate.sequence, payload_digest },
    },
    offered: { candidate, at: first },
    staged: renewed,
    withdrawn,
  };
}

function takenBack(slots: Slots, event: Extract<Event, { kind: "taken_back" }>): Slots {
  const { channel, sequence, payload_digest, withdrawn } = event;
  return {
    ...slots,
    floor: { ...slots.floor, [channel]: { sequence, payload_digest } },
    offered: withoutWithdrawn(slots.offered, withdrawn),
    staged: withoutWithdrawn(slots.staged, withdrawn),
    withdrawn,
  };
}

function withoutWithdrawn<Slot extends { readonly candidate: { readonly id: string } }>(
  slot: Slot | null,
  withdrawn: readonly string[],
): Slot | null {
  return slot !== null && withdrawn.includes(slot.candidate.id) ? null : slot;
}

function begun(slots: Slots, event: Began): Attempt {
  const { pending } = slots;
  const booted = event.purpose === "post-boot" || event.purpose === "post-boot-back";
  return {
    id: event.attempt,
    purpose: event.purpose,
    path: event.path,
    candidate: event.candidate,
    previous: booted ? pending?.previous ?? null : null,
    revert_to: booted ? pending?.revert_to ?? null : null,
    by: event.by,
    overrides: event.overrides,
    began_at: event.at,
    phase: booted ? "probe" : "baseline",
    mode: booted ? "boot" : "switch",
    baseline: booted ? pending?.baseline ?? null : null,
    condemned: null,
    ending: null,
  };
}

/** The machine booted something else than what waited. That is an ending of its own. */
function bootedOther(slots: Slots, event: Extract<Event, { kind: "boot_other" }>): Slots {
  const { pending } = slots;
  if (pending === null || slots.attempt !== null) return slots;
  const began: Began = {
    kind: "began",
    attempt: event.attempt,
    purpose: "post-boot",
    path: pending.path,
    candidate: pending.candidate,
    by: { who: "boot", kind: "timer" },
    overrides: null,
    at: event.at,
  };
  const attempt = begun(slots, began);
  return attemptEnded({ ...slots, attempt, pending: null }, attempt, {
    kind: "other-generation-booted",
    code: "other_generation_booted",
    detail: `expected the pending generation, the machine booted ${event.found ?? "nothing known"}`,
    class: "environment",
    at: event.at,
  });
}
