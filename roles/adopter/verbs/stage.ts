/** `stage`: bring the bytes here and check them; nothing that runs is touched. @module */

import type { StageFault, StageProgress } from "../../../lib/adoption/backend.ts";
import { isExpired } from "../../../lib/adoption/candidate.ts";
import { mayStage } from "../../../lib/adoption/policy.ts";
import { receipt } from "../../../lib/adoption/receipts.ts";
import { stands } from "../../../lib/adoption/rejection.ts";
import { rejectionOf, type Slots } from "../../../lib/adoption/slots.ts";
import { timestamp } from "../../../lib/core/clock.ts";
import type { Adopter } from "../adopter.ts";
import { fine, type Outcome, refusedBy } from "../outcome.ts";

/** Faults of a network that come and go: no unit failed for them. */
const TRANSIENT: readonly string[] = [
  ...["fetch-failed", "fetch-timeout", "fetch-aborted", "blob_absent", "blob_busy"],
  ...["cache_down", "cache_miss", "stage_timed_out"],
];

/** Stages what is offered. */
export async function stage(
  adopter: Adopter,
  progress: (progress: StageProgress) => void,
): Promise<Outcome> {
  const { config, ports, records, backend, by } = adopter;
  const slots = await adopter.adoption.slots();
  const now = ports.clock.now();
  const before = await notToStage(adopter, slots, now);
  if (before !== null) return before;
  const candidate = slots.offered?.candidate;
  if (candidate === undefined) throw new Error("something without an offer is to be staged");
  const deadlineMs = config.limits.stage_minutes * 60_000;
  const staged = await backend.stage({ candidate, deadlineMs, progress });
  const at = timestamp(ports.clock.now());
  if (staged.kind === "refused") return await failed(adopter, slots, staged);
  await adopter.adoption.note({ kind: "staged", candidate, path: staged.path, at });
  await records.add(
    receipt("staged", "staged", "every byte was checked", at, {
      path: staged.path,
      rev: candidate.rev,
      by: by.who,
    }),
  );
  await records.clear("stage");
  await adopter.summarize();
  return fine("staged", `revision ${candidate.rev} is here`, { path: staged.path });
}

/** Why there is nothing to stage, or not now; null when there is. */
async function notToStage(adopter: Adopter, slots: Slots, now: number): Promise<Outcome | null> {
  const { config, backend, by } = adopter;
  if (slots.offered === null) return fine("no_candidate", "nothing is offered");
  const { candidate } = slots.offered;
  if (!mayStage(config.policy.adopt, by)) {
    return fine("policy", `policy ${config.policy.adopt}: a person stages`);
  }
  if (slots.withdrawn.includes(candidate.id)) {
    return refusedBy("candidate_withdrawn", "the publisher took the candidate back");
  }
  if (isExpired(candidate, now)) {
    return refusedBy("expired", `the offer expired at ${candidate.expires_at}`);
  }
  if (slots.staged?.candidate.id === candidate.id) {
    const whole = await backend.verify(slots.staged.path, candidate);
    if (whole.kind === "ok") return fine("already_staged", "it is here, every byte checked");
  }
  const facts = await backend.facts();
  if (facts.kind !== "refused" && facts.current === candidate.id) {
    const proven = slots.proven?.path === candidate.id;
    const detail = "what is offered runs";
    return fine("already_current", proven ? detail : `${detail}; \`adopt\` proves it`);
  }
  const rejection = rejectionOf(slots, candidate.id);
  if (rejection !== null && stands(rejection, candidate.sequence, now) && by.kind === "timer") {
    const until = rejection.retry_at ?? "somebody says `unreject`";
    return fine("rejected", `${rejection.code}: not before ${until}`);
  }
  return null;
}

async function failed(adopter: Adopter, slots: Slots, fault: StageFault): Promise<Outcome> {
  const { ports, records } = adopter;
  const candidate = slots.offered?.candidate;
  const at = timestamp(ports.clock.now());
  const { code, detail, nextStep } = fault;
  if (candidate !== undefined) {
    await adopter.adoption.note({
      kind: "rejected",
      id: candidate.id,
      sequence: candidate.sequence,
      class: fault.class,
      code,
      detail,
      at,
    });
    await records.add(
      receipt("stage-failed", code, detail, at, { path: candidate.id, rev: candidate.rev }),
    );
  }
  const transient = TRANSIENT.includes(code);
  if (!transient) await records.fail("stage", code, detail);
  await adopter.summarize();
  return transient ? fine(code, detail) : refusedBy(code, detail, nextStep);
}
