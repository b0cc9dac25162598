/**
 * Going on: whatever the journal owes first, then what a boot brought, then something new.
 *
 * @module
 */

import { timestamp } from "../core/clock.ts";
import type { Journal } from "../core/journal.ts";
import { drive, type Entry, type Machine, recall } from "../core/machine.ts";
import type { Refusal } from "../core/refusal.ts";
import type { Effect, Event } from "./event.ts";
import { adoption } from "./machine.ts";
import { type AdoptionPorts, type AdoptionRules, performer } from "./perform.ts";
import { nextAction } from "./recovery.ts";
import type { Slots } from "./slots.ts";

/** A journal with its machine. */
export interface Adoption {
  /** Pays what is owed: at every start, before anything new. */
  recover(): Promise<Slots | Refusal>;
  /** Takes an event in and pays what it makes owed. */
  take(event: Event): Promise<Slots>;
  /** Takes an event in and pays nothing: for those who may not touch what runs. */
  note(event: Event): Promise<Slots>;
  /** What the journal says now. */
  slots(): Promise<Slots>;
}

/** Opens it on `journal`; `newAttempt` makes ids. */
export function openAdoption(
  ports: AdoptionPorts,
  rules: AdoptionRules,
  journal: Journal<Entry<Event, Effect>>,
  newAttempt: () => string,
): Adoption {
  let now = adoption.initial;
  // `drive` asks what is owed right before it pays: that is the state the payment goes by.
  const watched: Machine<Slots, Event, Effect> = {
    ...adoption,
    owed: (slots) => {
      now = slots;
      return adoption.owed(slots);
    },
  };
  const perform = performer(ports, rules, () => now);
  const take = (event?: Event) => drive(watched, journal, perform, event);
  const slots = async () => recall(adoption, await journal.read()).state;
  return {
    take,
    slots,
    note: async (event) => {
      await journal.append({ kind: "offer", event });
      return await slots();
    },
    recover: async () => {
      await take();
      const facts = await ports.backend.facts();
      if (facts.kind === "refused") return facts;
      const action = nextAction(await journal.read(), facts);
      const at = timestamp(ports.clock.now());
      switch (action.kind) {
        case "perform":
          throw new Error("something is owed after everything was paid");
        case "idle":
        case "manual":
          return action.slots;
        case "boot_other":
          return await take({ kind: "boot_other", attempt: newAttempt(), found: action.found, at });
        case "post_boot":
          return await take({
            kind: "began",
            attempt: newAttempt(),
            purpose: action.direction === "back" ? "post-boot-back" : "post-boot",
            path: action.slots.pending?.path ?? "",
            candidate: action.slots.pending?.candidate ?? null,
            by: { who: "boot", kind: "timer" },
            overrides: null,
            at,
          });
      }
    },
  };
}
