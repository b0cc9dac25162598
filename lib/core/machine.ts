/**
 * The shape that adoption, bootstrap, mode, promotion and config install share: owe, don't remember.
 *
 *     events so far ──step──> state ──owed──> effect ──perform──> event ──append──> events so far
 *                                       └──> null: nothing is owed, done
 *
 * A restart is the normal path: `drive` folds the journal and pays what is owed, whether it was
 * called with an offer or at boot. Each effect is written down before (`intent`) and after (`done`)
 * it is performed, so an effect can be performed a second time after a crash and must be safe to be.
 *
 * @module
 */

import { canonicalJson, type Json } from "./canonical_json.ts";
import type { Journal } from "./journal.ts";

/** Pure: what happened becomes a state, a state owes at most one effect. */
export interface Machine<State, Event extends Json, Effect extends Json> {
  readonly initial: State;
  readonly step: (state: State, event: Event) => State;
  readonly owed: (state: State) => Effect | null;
}

/** What `drive` writes to its journal. An offer ends no effect: one that was begun stays begun. */
export type Entry<Event extends Json, Effect extends Json> =
  | { readonly kind: "offer"; readonly event: Event }
  | { readonly kind: "intent"; readonly effect: Effect }
  | { readonly kind: "done"; readonly event: Event };

/** Carries out one effect. `again` is true when an earlier run may already have done so. */
export type Perform<Event extends Json, Effect extends Json> = (
  effect: Effect,
  again: boolean,
) => Promise<Event>;

/** More effects than this from one drive is a machine that owes for ever: a bug. */
const MOST_EFFECTS = 10_000;

/** The state after `entries`, and the effect whose end was never written down. */
export function recall<State, Event extends Json, Effect extends Json>(
  machine: Machine<State, Event, Effect>,
  entries: readonly Entry<Event, Effect>[],
): { readonly state: State; readonly unfinished: Effect | null } {
  let state = machine.initial;
  let unfinished: Effect | null = null;
  for (const entry of entries) {
    if (entry.kind === "intent") unfinished = entry.effect;
    else {
      state = machine.step(state, entry.event);
      if (entry.kind === "done") unfinished = null;
    }
  }
  return { state, unfinished };
}

/**
 * Pays until nothing is owed and returns the final state. `offer` is an event from outside, taken
 * in before anything is paid. Rejects with what `perform` or the journal rejects with: the journal
 * then still says what was begun.
 */
export async function drive<State, Event extends Json, Effect extends Json>(
  machine: Machine<State, Event, Effect>,
  journal: Journal<Entry<Event, Effect>>,
  perform: Perform<Event, Effect>,
  offer?: Event,
): Promise<State> {
  let { state, unfinished } = recall(machine, await journal.read());
  if (offer !== undefined) {
    await journal.append({ kind: "offer", event: offer });
    state = machine.step(state, offer);
  }
  for (let paid = 0; paid < MOST_EFFECTS; paid++) {
    const effect = machine.owed(state);
    if (effect === null) return state;
    // The offer may have changed what is owed: only the same effect was begun before.
    const again = unfinished !== null && canonicalJson(unfinished) === canonicalJson(effect);
    if (!again) await journal.append({ kind: "intent", effect });
    const event = await perform(effect, again);
    await journal.append({ kind: "done", event });
    state = machine.step(state, event);
    unfinished = null;
  }
  throw new Error(`the machine still owes after ${MOST_EFFECTS} effects: it does not progress`);
}
