/**
 * Recovery: pure functions of what the journal says and what is so. Nothing here is remembered.
 *
 *     entries, facts ──nextAction──> idle | perform | post-boot | other booted | manual
 *     attempt, facts, inspection ──onLaunch──> gates first | launch at once | an answer
 *
 * The rule behind all of them: a launch that may be at work is never raced, and nothing is good
 * before probes said so of exactly this path.
 *
 * @module
 */

import { type Entry, recall } from "../core/machine.ts";
import { canonicalJson } from "../core/canonical_json.ts";
import type { Facts, Inspection } from "./backend.ts";
import type { Effect, Event } from "./event.ts";
import { adoption } from "./machine.ts";
import type { Slots } from "./slots.ts";

/** What to do next on this host, before anything new is begun. */
export type Action =
  | { readonly kind: "idle"; readonly slots: Slots }
  | {
    readonly kind: "perform";
    readonly effect: Effect;
    readonly again: boolean;
    readonly slots: Slots;
  }
  /** The machine booted what waited: is it good? */
  | { readonly kind: "post_boot"; readonly direction: "forward" | "back"; readonly slots: Slots }
  | { readonly kind: "boot_other"; readonly found: string | null; readonly slots: Slots }
  | { readonly kind: "manual"; readonly slots: Slots };

/** The next action, from the journal and the facts. */
export function nextAction(entries: readonly Entry<Event, Effect>[], facts: Facts): Action {
  const { slots, effect, again } = whereItStands(entries);
  if (effect !== null) return { kind: "perform", effect, again, slots };
  if (slots.manual !== null) return { kind: "manual", slots };
  const { pending } = slots;
  if (pending === null || pending.boot_id === facts.boot_id) return { kind: "idle", slots };
  return facts.booted === pending.path
    ? { kind: "post_boot", direction: pending.direction, slots }
    : { kind: "boot_other", found: facts.booted, slots };
}

function whereItStands(entries: readonly Entry<Event, Effect>[]) {
  const { state: slots, unfinished } = recall(adoption, entries);
  const effect = adoption.owed(slots);
  const again = effect !== null && unfinished !== null &&
    canonicalJson(effect) === canonicalJson(unfinished);
  return { slots, effect, again };
}

/** How to go on with a launch that may have been begun before. */
export type LaunchStep =
  /** Nothing was begun: look at the host first. */
  | { readonly kind: "from_start" }
  /** It was begun and is half done: finish it, gates were clear then. */
  | { readonly kind: "finish" }
  | { readonly kind: "answer"; readonly launch: Extract<Inspection, { kind: "ended" }>["launch"] }
  | { readonly kind: "unknown"; readonly detail: string };

/** Before a launch; `inspection` is null in the first run. */
export function onLaunch(inspection: Inspection | null): LaunchStep {
  switch (inspection?.kind) {
    case undefined:
    case "never_started":
      return { kind: "from_start" };
    case "half":
      return { kind: "finish" };
    case "ended":
      return { kind: "answer", launch: inspection.launch };
    case "running":
    case "unknown":
      return { kind: "unknown", detail: inspection.detail };
  }
}

/** What an inspection means, by what is running now. */
export type Settled =
  | { readonly kind: "wait" }
  | { readonly kind: "finish" }
  | { readonly kind: "answer"; readonly launch: Extract<Inspection, { kind: "ended" }>["launch"] }
  /** It runs; whether it came up whole, probes will say. */
  | { readonly kind: "runs" }
  /** It does not run: put back what was selected. */
  | { readonly kind: "restore" }
  | { readonly kind: "superseded"; readonly found: string | null };

/** What became of a launch from `from` to `to`. */
export function settle(
  inspection: Inspection,
  facts: Facts,
  { from, to }: { readonly from: string | null; readonly to: string },
): Settled {
  if (inspection.kind === "running") return { kind: "wait" };
  if (inspection.kind === "half") return { kind: "finish" };
  if (inspection.kind === "ended" && inspection.launch.kind !== "unknown") {
    return { kind: "answer", launch: inspection.launch };
  }
  if (facts.current === to) return { kind: "runs" };
  if (facts.current === from) return { kind: "restore" };
  return { kind: "superseded", found: facts.current };
}
