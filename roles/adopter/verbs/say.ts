/** What a person says: `pause`, `resume`, `unreject`, `recovered`. All of it is on record. @module */

import { receipt } from "../../../lib/adoption/receipts.ts";
import { rejectionOf } from "../../../lib/adoption/slots.ts";
import { timestamp } from "../../../lib/core/clock.ts";
import type { Adopter } from "../adopter.ts";
import { fine, type Outcome, refusedBy } from "../outcome.ts";

/** Timers adopt nothing until `until`, ISO 8601, or until somebody resumes. */
export async function pause(
  adopter: Adopter,
  reason: string,
  until: string | null,
): Promise<Outcome> {
  const at = now(adopter);
  if (until !== null && !(Date.parse(until) > Date.parse(at))) {
    return refusedBy("until_past", "the pause would have ended already");
  }
  const by = adopter.by.who;
  await adopter.adoption.note({ kind: "paused", pause: { by, reason, at, until } });
  return await said(adopter, "paused", `${reason}${until === null ? "" : `, until ${until}`}`);
}

/** Ends a pause. */
export async function resume(adopter: Adopter): Promise<Outcome> {
  const { pause } = await adopter.adoption.slots();
  if (pause === null) return fine("not_paused", "nothing is paused");
  await adopter.adoption.note({ kind: "resumed", by: adopter.by.who, at: now(adopter) });
  return await said(adopter, "resumed", `it was paused by ${pause.by}: ${pause.reason}`);
}

/** Lets a rejected target be tried again. */
export async function unreject(adopter: Adopter, id: string, why: string): Promise<Outcome> {
  const rejection = rejectionOf(await adopter.adoption.slots(), id);
  if (rejection === null) {
    return refusedBy("not_rejected", "no such target is rejected", "see `anvil-adopter status`");
  }
  await adopter.adoption.note({ kind: "unrejected", id, by: adopter.by.who, at: now(adopter) });
  return await said(adopter, "unrejected", `${rejection.code}: ${why}`, id);
}

/** A person looked at a host in manual recovery. */
export async function recovered(adopter: Adopter, why: string): Promise<Outcome> {
  const { manual } = await adopter.adoption.slots();
  if (manual === null) return fine("nothing_to_recover", "no recovery is pending");
  const by = adopter.by.who;
  await adopter.adoption.note({ kind: "recovered", by, why, at: now(adopter) });
  await adopter.records.clear("activate");
  return await said(adopter, "recovered", `${manual.code}: ${why}`);
}

async function said(
  adopter: Adopter,
  code: string,
  detail: string,
  path: string | null = null,
): Promise<Outcome> {
  await adopter.records.add(
    receipt("said", code, detail, now(adopter), { by: adopter.by.who, path }),
  );
  await adopter.summarize();
  return fine(code, detail);
}

function now({ ports }: Adopter): string {
  return timestamp(ports.clock.now());
}
