/** `adopt`: gates, switch, probes, verdict; of what runs already, probes and verdict. @module */

import { gateReadings } from "../../../lib/adoption/perform.ts";
import { reasonsOf } from "../../../lib/adoption/gate.ts";
import { admit } from "../../../lib/adoption/policy.ts";
import { decideReboot } from "../../../lib/adoption/reboot.ts";
import { receipt } from "../../../lib/adoption/receipts.ts";
import type { Last, Override, Slots } from "../../../lib/adoption/slots.ts";
import { timestamp } from "../../../lib/core/clock.ts";
import type { Adopter } from "../adopter.ts";
import { exitOf } from "../ending.ts";
import { fine, needsPerson, type Outcome, refusedBy } from "../outcome.ts";

/** Which rules a person sets aside, and why. */
export interface Despite {
  readonly rules: readonly Override[];
  readonly why: string;
}

/** Goes on with whatever was begun, then with what a boot brought, then with what is staged. */
export async function adopt(adopter: Adopter, despite: Despite): Promise<Outcome> {
  const before = await adopter.adoption.slots();
  const slots = await adopter.adoption.recover();
  if ("code" in slots) return await unknown(adopter, slots.detail);
  if (slots.last !== null && slots.last.attempt !== before.last?.attempt) {
    return await settled(adopter, slots, despite);
  }
  const facts = await adopter.backend.facts();
  if (facts.kind === "refused") return await unknown(adopter, facts.detail);
  const admission = admit(slots, facts, {
    by: adopter.by,
    despite: despite.rules,
    policy: adopter.config.policy.adopt,
    probed: adopter.config.probes.length > 0,
    now: adopter.ports.clock.now(),
  });
  switch (admission.kind) {
    case "nothing":
      return await nothing(adopter, slots, admission.code, admission.detail);
    case "wait":
      return await waits(adopter, admission.reasons);
    case "refused":
      return await refused(adopter, slots, admission.code, admission.detail);
    case "begin":
      break;
  }
  const { path, candidate } = admission.staged;
  const after = await adopter.adoption.take({
    kind: "began",
    attempt: adopter.newAttempt(),
    purpose: admission.purpose,
    path,
    candidate,
    by: adopter.by,
    overrides: despite.rules.length === 0 ? null : despite,
    at: timestamp(adopter.ports.clock.now()),
  });
  return await settled(adopter, after, despite);
}

/** What an attempt came to; after a proof that ended badly, what going back came to. */
async function settled(adopter: Adopter, slots: Slots, despite: Despite): Promise<Outcome> {
  const outcome = await finished(adopter, slots);
  const path = await provenWayBack(adopter, slots);
  if (path === null) return outcome;
  const after = await adopter.adoption.take({
    kind: "began",
    attempt: adopter.newAttempt(),
    purpose: "back",
    path,
    candidate: null,
    by: adopter.by,
    overrides: despite.rules.length === 0 ? null : despite,
    at: timestamp(adopter.ports.clock.now()),
  });
  const back = await finished(adopter, after);
  // What runs is bad whether or not the host may be disturbed for it now.
  if (after.last?.ending.kind !== "deferred") return back;
  return { ...outcome, detail: `${outcome.detail}; going back waits: ${back.detail}` };
}

/** The last proven generation, whole, after what runs was found bad; null: none, or a person goes. */
async function provenWayBack(
  { by, config, backend }: Adopter,
  { last, proven, manual }: Slots,
): Promise<string | null> {
  if (last?.purpose !== "prove" || last.ending.code !== "current_not_good") return null;
  if (proven === null || manual !== null) return null;
  if (by.kind === "timer" && config.policy.adopt !== "rolling") return null;
  return (await backend.verify(proven.path, null)).kind === "ok" ? proven.path : null;
}

/** What an attempt that was just driven came to. */
export async function finished(adopter: Adopter, slots: Slots): Promise<Outcome> {
  const { last } = slots;
  if (last === null) throw new Error("an attempt ended without a word");
  if (last.ending.kind === "deferred") await failWhenStale(adopter, slots);
  await adopter.summarize();
  return outcomeOf(last);
}

function outcomeOf(last: Last): Outcome {
  const { ending, path, attempt, rev } = last;
  const reasons = ending.reasons.map(({ gate, state, code, detail, observed_at }) => ({
    ...{ gate, state, code, detail, observed_at },
  }));
  const said = ending.reasons.map(({ gate, code }) => `${gate} ${code}`).join(", ");
  return {
    exit: exitOf(last),
    code: ending.code,
    detail: `${ending.kind}: ${said === "" ? ending.detail : said}`,
    data: { attempt, ending: ending.kind, path, rev, reasons },
  };
}

/** Nothing is staged; a boot may still be pending. */
async function nothing(
  adopter: Adopter,
  slots: Slots,
  code: string,
  detail: string,
): Promise<Outcome> {
  if (slots.waiting !== null) {
    const at = timestamp(adopter.ports.clock.now());
    await adopter.adoption.note({ kind: "nothing_waits", at });
  }
  const reboot = slots.pending === null ? null : await pendingBoot(adopter, slots);
  await adopter.summarize();
  return reboot ?? fine(code, detail);
}

/** The host's own policy decides about a pending boot. */
async function pendingBoot(adopter: Adopter, slots: Slots): Promise<Outcome> {
  const { config, ports, records, acting, backend } = adopter;
  const { pending } = slots;
  if (pending === null) throw new Error("no boot is pending");
  const reasons = reasonsOf(await gateReadings(acting));
  const now = ports.clock.now();
  const decision = decideReboot(
    pending,
    config.policy.reboot,
    config.policy.reboot_window ?? null,
    reasons,
    now,
  );
  const since = now - Date.parse(pending.since);
  const stale = since > config.policy.stale_after_hours * 3_600_000;
  switch (decision.kind) {
    case "tell":
      await records.fail("activate", decision.code, decision.detail);
      return fine(decision.code, decision.detail);
    case "wait":
      if (stale) await records.fail("activate", "reboot_stale", decision.detail);
      return fine(decision.code, decision.detail);
    case "reboot": {
      const at = timestamp(now);
      await records.add(receipt("said", "rebooting", "every gate is clear", at, { by: "policy" }));
      const asked = await backend.reboot();
      if (asked.kind === "ok") return fine("rebooting", "the machine was asked to boot");
      await records.fail("activate", asked.code, asked.detail);
      return refusedBy(asked.code, asked.detail, asked.nextStep);
    }
  }
}

async function waits(
  adopter: Adopter,
  reasons: Extract<ReturnType<typeof admit>, { kind: "wait" }>["reasons"],
): Promise<Outcome> {
  const at = timestamp(adopter.ports.clock.now());
  const slots = await adopter.adoption.note({ kind: "waited", reasons, at });
  const said = reasons.map(({ code, detail }) => `${code}: ${detail}`).join("; ");
  await adopter.records.add(
    receipt("waited", reasons[0]?.code ?? "waited", said, at, {
      path: slots.staged?.path ?? null,
      reasons: [...reasons],
    }),
  );
  await failWhenStale(adopter, slots);
  await adopter.summarize();
  return fine(reasons[0]?.code ?? "waited", said, { reasons: reasons.map((one) => ({ ...one })) });
}

/** Waiting is fine; waiting for ever is loud. */
async function failWhenStale(adopter: Adopter, slots: Slots): Promise<void> {
  const { config, ports, records } = adopter;
  const { waiting } = slots;
  if (waiting === null) return;
  const age = ports.clock.now() - Date.parse(waiting.since);
  if (age <= config.policy.stale_after_hours * 3_600_000) return;
  const said = waiting.reasons.map(({ gate, code }) => `${gate} ${code}`).join(", ");
  await records.fail("activate", "waited_too_long", `since ${waiting.since}: ${said}`);
}

async function refused(
  adopter: Adopter,
  slots: Slots,
  code: string,
  detail: string,
): Promise<Outcome> {
  const { records, ports } = adopter;
  if (slots.manual !== null) {
    await records.fail("activate", slots.manual.code, slots.manual.detail);
    await adopter.summarize();
    return needsPerson(code, detail);
  }
  const at = timestamp(ports.clock.now());
  await records.add(receipt("refused", code, detail, at, { path: slots.staged?.path ?? null }));
  await records.fail("activate", code, detail);
  await adopter.summarize();
  return refusedBy(code, detail);
}

async function unknown(adopter: Adopter, detail: string): Promise<Outcome> {
  await adopter.records.fail("activate", "facts_unknown", detail);
  return refusedBy("facts_unknown", detail, "see whether systemd and the store answer");
}
