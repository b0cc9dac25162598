/**
 * One attempt, from baseline to verdict, the same for every backend.
 *
 *     began ─> baseline ─> activate ─┬─ switched ──────────> probe ─ good ─> commit ─> known-good
 *                │            ^      ├─ installed ─> pending-boot ─ boot ─> probe (post-boot)
 *                │refused     └stale─┤
 *                v                   ├─ gates busy, elsewhere ─> deferred
 *              refused               ├─ nothing ─> failed
 *                                    └─ unknown ─> inspect ─┬─ (as above)
 *                                                           └─ still unknown ─> manual-recovery
 *     probe ─ bad ─> revert ─┬─ switched ─> probe_reverted ─> rolled-back
 *                            ├─ installed ─> pending-boot (back) ─ boot ─> probe ─> rolled-back
 *                            └─ anything else ─> inspect, once ─> manual-recovery
 *     any ─ somebody else moved what runs ─> superseded, hands off
 *
 * What runs already and was never proven is only judged; where another one was proven, going back to
 * that is an attempt of its own, whose verdict only says whose fault it was:
 *
 *     prove: began ─> baseline ─> probe ─┬─ good ─> commit, which moves nothing ─> known-good
 *                       │refused         └─ bad ─> failed
 *     back:  as above ─> probe ─ good or bad ─> commit ─> rolled-back
 *
 * Every ending is written into the receipts before the attempt is let go; retention comes after.
 *
 * @module
 */

import type { Machine } from "../core/machine.ts";
import type { Launch } from "./backend.ts";
import { attemptEnded, type EndingParts } from "./ended.ts";
import type { Effect, Event } from "./event.ts";
import { outside } from "./outside.ts";
import { type Attempt, NO_SLOTS, type Slots } from "./slots.ts";

/** The machine that `drive` pays. */
export const adoption: Machine<Slots, Event, Effect> = { initial: NO_SLOTS, step, owed };

/** What is owed: nothing without an attempt, but retention after one. */
export function owed(slots: Slots): Effect | null {
  const { attempt } = slots;
  if (attempt === null) {
    return slots.collect ? { kind: "collect", after: slots.last?.attempt ?? "" } : null;
  }
  const { id, path, previous, mode } = attempt;
  switch (attempt.phase) {
    case "baseline":
      return { kind: "baseline", attempt: id, path };
    case "activate":
      return { kind: "activate", attempt: id, path, previous, mode };
    case "inspect":
      return attempt.condemned === null
        ? { kind: "inspect", step: "activate", attempt: id, path, previous, mode }
        : { kind: "inspect", step: "revert", attempt: id, ...backOf(attempt) };
    case "probe":
      return { kind: "probe", attempt: id, path };
    case "commit":
      return { kind: "commit", attempt: id, path };
    case "revert":
      return { kind: "revert", attempt: id, ...backOf(attempt) };
    case "probe_reverted":
      return { kind: "probe_reverted", attempt: id, path: backOf(attempt).path };
    case "ended":
      return { kind: "record", attempt: id };
  }
}

/** Where the way back leads, and from where. */
function backOf(attempt: Attempt) {
  const path = attempt.revert_to ?? attempt.previous ?? "";
  return { path, previous: attempt.path, mode: attempt.mode };
}

/** One event. What belongs to no attempt that is going on changes nothing. */
export function step(slots: Slots, event: Event): Slots {
  const changed = outside(slots, event);
  if (changed !== null) return changed;
  const { attempt } = slots;
  if (attempt === null) {
    return event.kind === "collected" ? { ...slots, collect: false } : slots;
  }
  const to = (changes: Partial<Attempt>): Slots => ({
    ...slots,
    attempt: { ...attempt, ...changes },
  });
  const end = (parts: EndingParts) => attemptEnded(slots, attempt, parts);
  switch (event.kind) {
    case "baseline_taken":
      if (attempt.phase !== "baseline") return slots;
      return to({
        phase: attempt.purpose === "prove" ? "probe" : "activate",
        baseline: event.baseline,
        previous: event.previous,
        revert_to: event.revert_to,
        mode: event.impact.mode,
      });
    case "baseline_stale":
      return attempt.phase === "activate" ? to({ phase: "baseline", baseline: null }) : slots;
    case "refused":
      return end({ ...event, kind: "refused" });
    case "gates_busy":
      return end({
        kind: "deferred",
        code: "gates_not_clear",
        detail: "the host may not be disturbed now",
        reasons: event.reasons,
        at: event.at,
      });
    case "launched":
      return launched(slots, attempt, event, end, to);
    case "superseded":
      return end({
        kind: "superseded",
        code: "superseded",
        detail: `somebody else made ${event.found ?? "nothing known"} the running one`,
        at: event.at,
      });
    case "judged_good":
      if (attempt.phase !== "probe") return slots;
      if (attempt.purpose === "post-boot-back") {
        return end({
          kind: "rolled-back",
          code: "booted_back",
          detail: "the boot brought the earlier generation back, and it is good",
          evidence: event.evidence,
          at: event.at,
        });
      }
      if (attempt.candidate !== null && slots.withdrawn.includes(attempt.candidate.id)) {
        // We did not make it the running one: that it was taken back is told, as of all that runs.
        if (attempt.purpose === "prove") return end(withdrawnWhileProven(event));
        return to({
          phase: "revert",
          condemned: {
            class: "candidate",
            code: "candidate_withdrawn",
            detail: "the publisher withdrew the candidate before it was proven",
            evidence: event.evidence,
          },
        });
      }
      return to({ phase: "commit" });
    case "judged_bad":
      if (attempt.phase !== "probe" && attempt.phase !== "commit") return slots;
      if (attempt.purpose === "prove") return end(notGood(slots, event));
      // It was proven once and stays, whatever fails on it now as it failed on what we left.
      if (attempt.purpose === "back" && event.condemned.code !== "boot_before_verdict") {
        return to({ phase: "commit", condemned: event.condemned });
      }
      return condemned(attempt, event, end, to);
    case "committed":
      if (attempt.phase !== "commit") return slots;
      if (attempt.purpose === "back") return end(wentBack(attempt, event));
      return end({
        kind: "known-good",
        code: event.problem === null ? "proven" : "proven_not_boot_default",
        detail: event.problem ?? "the probes passed for exactly this generation",
        at: event.at,
      });
    case "reverted_judged":
      return end({
        kind: "rolled-back",
        code: attempt.condemned?.code ?? "rolled_back",
        detail: event.good
          ? attempt.condemned?.detail ?? "rolled back"
          : "the same probes fail on the earlier generation too: the cause is elsewhere",
        evidence: event.good ? attempt.condemned?.evidence ?? null : event.evidence,
        class: event.good ? attempt.condemned?.class ?? null : "environment",
        at: event.at,
      });
    case "unsettled":
      return end({ ...event, kind: "manual-recovery" });
    case "recorded":
      return attempt.phase === "ended" && attempt.ending !== null ? letGo(slots, attempt) : slots;
    default:
      return slots;
  }
}

type End = (parts: EndingParts) => Slots;
type To = (changes: Partial<Attempt>) => Slots;

/** How a launch ended, on the way there or on the way back. */
function launched(
  slots: Slots,
  attempt: Attempt,
  event: { readonly launch: Launch; readonly boot_id: string; readonly at: string },
  end: End,
  to: To,
): Slots {
  const { launch, at } = event;
  const inspected = attempt.phase === "inspect";
  if (attempt.condemned !== null) return launchedBack(slots, attempt, event, end, to);
  if (!inspected && attempt.phase !== "activate") return slots;
  switch (launch.kind) {
    case "switched":
      return to({ phase: "probe" });
    case "installed":
      return end({
        kind: "pending-boot",
        code: "reboot_required",
        detail: launch.detail,
        boot: { direction: "forward", boot_id: event.boot_id },
        at,
      });
    case "elsewhere":
      return end({
        kind: "deferred",
        code: "another_activation",
        detail: launch.detail,
        reasons: [{
          gate: "activation",
          state: "busy",
          code: "another_activation",
          detail: launch.detail,
          observed_at: at,
        }],
        at,
      });
    case "nothing":
      return end({
        kind: "failed",
        code: launch.code,
        detail: launch.detail,
        class: launch.class,
        at,
      });
    case "unknown":
      return inspected
        ? end({ kind: "manual-recovery", code: launch.code, detail: launch.detail, at })
        : to({ phase: "inspect" });
  }
}

function launchedBack(
  _slots: Slots,
  attempt: Attempt,
  event: { readonly launch: Launch; readonly boot_id: string; readonly at: string },
  end: End,
  to: To,
): Slots {
  const { launch, at } = event;
  switch (launch.kind) {
    case "switched":
      return to({ phase: "probe_reverted" });
    case "installed":
      return end({
        kind: "pending-boot",
        code: "reboot_required_back",
        detail: `the way back needs a boot: ${attempt.condemned?.detail ?? ""}`,
        class: attempt.condemned?.class ?? null,
        evidence: attempt.condemned?.evidence ?? null,
        boot: { direction: "back", boot_id: event.boot_id },
        at,
      });
    case "unknown":
      if (attempt.phase === "revert") return to({ phase: "inspect" });
      return end({ kind: "manual-recovery", code: "revert_unknown", detail: launch.detail, at });
    case "elsewhere":
    case "nothing":
      return end({ kind: "manual-recovery", code: "revert_failed", detail: launch.detail, at });
  }
}

/** A bad verdict: back, where there is a way back. */
function condemned(
  attempt: Attempt,
  event: Extract<Event, { kind: "judged_bad" }>,
  end: End,
  to: To,
): Slots {
  const { code, detail, evidence } = event.condemned;
  if (attempt.purpose === "post-boot-back") {
    const text = `the generation that was booted back to is not good either: ${detail}`;
    return end({
      kind: "manual-recovery",
      code: "booted_back_bad",
      detail: text,
      evidence,
      at: event.at,
    });
  }
  const back = attempt.revert_to ?? attempt.previous;
  if (back === null || back === attempt.path) {
    const text = `${code}: ${detail}; there is no earlier generation to go back to`;
    return end({
      kind: "manual-recovery",
      code: "no_way_back",
      detail: text,
      evidence,
      at: event.at,
    });
  }
  return to({ phase: "revert", condemned: event.condemned });
}

/** What runs is not good, and it was not us who made it run: it stays, loudly. */
function notGood(slots: Slots, event: Extract<Event, { kind: "judged_bad" }>): EndingParts {
  const { code, detail, evidence } = event.condemned;
  const other = slots.proven === null
    ? "no generation was ever proven here"
    : `${slots.proven.rev} was proven last`;
  return {
    kind: "failed",
    code: "current_not_good",
    detail: `what runs does not pass: ${code}: ${detail}; nothing was switched; ${other}`,
    evidence,
    // Nothing was changed, so nothing shows whose fault it is: it is tried again, later and later.
    class: "environment",
    at: event.at,
  };
}

/** What the earlier generation passes and the later did not, the later is to blame for. */
function wentBack(
  { condemned }: Attempt,
  event: Extract<Event, { kind: "committed" }>,
): EndingParts {
  const detail = condemned === null
    ? "what ran did not pass the probes; the last proven generation runs again, and passes"
    : "what ran did not pass the probes, and the last proven generation, which runs again, does " +
      `not either: the cause is elsewhere: ${condemned.code}: ${condemned.detail}`;
  return {
    kind: "rolled-back",
    code: "current_not_good",
    detail: event.problem === null ? detail : `${detail}; ${event.problem}`,
    evidence: condemned?.evidence ?? null,
    class: condemned === null ? "candidate" : null,
    at: event.at,
  };
}

function withdrawnWhileProven(event: Extract<Event, { kind: "judged_good" }>): EndingParts {
  return {
    kind: "refused",
    code: "candidate_withdrawn",
    detail: "the publisher withdrew what runs before it was proven",
    evidence: event.evidence,
    at: event.at,
  };
}

function letGo(slots: Slots, attempt: Attempt): Slots {
  const { ending } = attempt;
  return {
    ...slots,
    attempt: null,
    collect: ending?.kind === "known-good" || ending?.kind === "rolled-back",
  };
}
