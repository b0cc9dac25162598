/** `rollback`: back to the last proven generation, or to one that is named. @module */

import type { Slots } from "../../../lib/adoption/slots.ts";
import { timestamp } from "../../../lib/core/clock.ts";
import type { Adopter } from "../adopter.ts";
import { receipt } from "../../../lib/adoption/receipts.ts";
import { fine, needsPerson, type Outcome, refusedBy } from "../outcome.ts";
import { type Despite, finished } from "./adopt.ts";

/** Goes back by a person's word. Needs neither publisher nor network. */
export async function rollback(
  adopter: Adopter,
  to: string | null,
  despite: Despite,
): Promise<Outcome> {
  const slots = await adopter.adoption.recover();
  if ("code" in slots) return refusedBy(slots.code, slots.detail);
  if (slots.manual !== null) return needsPerson("manual_recovery", slots.manual.detail);
  const facts = await adopter.backend.facts();
  if (facts.kind === "refused") return refusedBy("facts_unknown", facts.detail);
  if (to === null && slots.pending?.direction === "forward" && facts.current !== null) {
    return await cancelBoot(adopter, slots, facts.current);
  }
  const path = to ?? wayBack(slots, facts.current);
  if (path === null || path === facts.current) {
    const next = "name one with --to; `anvil-adopter receipts` lists what ran";
    return refusedBy("nothing_to_roll_back_to", "no other generation is known here", next);
  }
  await rejectLeft(adopter, slots, facts.current);
  const after = await adopter.adoption.take({
    kind: "began",
    attempt: adopter.newAttempt(),
    purpose: "rollback",
    path,
    candidate: null,
    by: adopter.by,
    overrides: despite.rules.length === 0 ? null : despite,
    at: timestamp(adopter.ports.clock.now()),
  });
  return await finished(adopter, after);
}

/** Nothing of what waits for a boot runs yet: going back is to boot what runs. */
async function cancelBoot(adopter: Adopter, slots: Slots, current: string): Promise<Outcome> {
  const { backend, records, by } = adopter;
  const done = await backend.commit(current);
  if (done.kind === "refused") return refusedBy(done.code, done.detail, done.nextStep);
  const at = timestamp(adopter.ports.clock.now());
  await rejectLeft(adopter, slots, slots.pending?.path ?? null);
  await adopter.adoption.note({ kind: "boot_cancelled", by: by.who, at });
  const detail = "the next boot brings what runs";
  await records.add(
    receipt("said", "boot_cancelled", detail, at, {
      by: by.who,
      path: slots.pending?.path ?? null,
    }),
  );
  await records.clear("activate");
  await adopter.summarize();
  return fine("boot_cancelled", detail);
}

/** The last proven one when something else runs, else what ran before it. */
function wayBack(slots: Slots, current: string | null): string | null {
  if (slots.proven !== null && slots.proven.path !== current) return slots.proven.path;
  return slots.last?.path === current ? slots.last.previous : null;
}

/** What a person leaves is not taken again by a timer. */
async function rejectLeft(adopter: Adopter, slots: Slots, current: string | null): Promise<void> {
  const known = [slots.staged?.candidate, slots.offered?.candidate, slots.pending?.candidate];
  const left = known.find((one) => one?.id === current);
  if (left === undefined || left === null) return;
  await adopter.adoption.note({
    kind: "rejected",
    id: left.id,
    sequence: left.sequence,
    class: "candidate",
    code: "rolled_back_by_person",
    detail: `${adopter.by.who} went back`,
    at: timestamp(adopter.ports.clock.now()),
  });
}
