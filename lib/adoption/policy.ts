/**
 * Whether an attempt may begin: rules of the host, words of people, the state of the offer.
 *
 * | rule              | a timer            | a person                     |
 * | ----------------- | ------------------ | ---------------------------- |
 * | policy            | only when rolling  | is not asked                 |
 * | pause             | waits              | waits, `--despite-pause`     |
 * | rejection         | waits              | waits, `--despite-rejection` |
 * | expired           | refused            | refused                      |
 * | withdrawn         | refused            | refused                      |
 * | step back         | refused            | refused, `--despite-downgrade` |
 *
 * What is offered and runs already, never proven, disturbs nobody while it is proven: no policy holds
 * that back. A timer needs a probe for it, though: without one everything is good.
 *
 * @module
 */

import type { Facts } from "./backend.ts";
import { type Candidate, offerAgainst } from "./candidate.ts";
import { type Reason, rule } from "./gate.ts";
import { stands } from "./rejection.ts";
import { type By, type Override, rejectionOf, type Slots, type Staged } from "./slots.ts";

/** What a host does of its own accord. */
export const POLICIES = ["rolling", "stage-only", "manual", "none"] as const;
/** One of {@link POLICIES}. */
export type Policy = (typeof POLICIES)[number];

/** What is asked. */
export interface AdoptAsk {
  readonly by: By;
  readonly despite: readonly Override[];
  readonly policy: Policy;
  /** True when there is a probe. */
  readonly probed: boolean;
  /** Milliseconds since the epoch. */
  readonly now: number;
}

/** What follows. */
export type Admission =
  /** `prove`: what is offered runs already, and was never judged. Nothing will be touched. */
  | { readonly kind: "begin"; readonly purpose: "adopt" | "prove"; readonly staged: Staged }
  /** There is nothing to do. */
  | { readonly kind: "nothing"; readonly code: NothingCode; readonly detail: string }
  /** Later, perhaps: it is on record what for. */
  | { readonly kind: "wait"; readonly reasons: readonly Reason[] }
  | { readonly kind: "refused"; readonly code: RefusalCode; readonly detail: string };

/** Why there is nothing to do. */
export type NothingCode = "no_candidate" | "not_staged" | "already_current" | "policy";

/** Why not. */
export type RefusalCode =
  | "manual_recovery"
  | "expired"
  | "candidate_withdrawn"
  | "local_generation_newer";

/** Whether staging is wanted at all by `policy`; a person may always stage. */
export function mayStage(policy: Policy, by: By): boolean {
  return by.kind === "person" || policy === "rolling" || policy === "stage-only";
}

/** True when the pause holds at `now`. */
export function isPaused(slots: Slots, now: number): boolean {
  const { pause } = slots;
  return pause !== null && (pause.until === null || now < Date.parse(pause.until));
}

/** Whether what is staged may become an attempt now. */
export function admit(slots: Slots, facts: Facts, ask: AdoptAsk): Admission {
  const { by, despite, policy, probed, now } = ask;
  if (slots.manual !== null) {
    const { code, detail } = slots.manual;
    return { kind: "refused", code: "manual_recovery", detail: `${code}: ${detail}` };
  }
  const proves = unproven(slots, facts);
  const staged = proves ?? slots.staged;
  if (staged === null) return nothingStaged(slots, facts);
  const { candidate, path } = staged;
  if (proves === null && path === facts.current) {
    return nothing("already_current", "what is staged runs already");
  }
  if (path === slots.pending?.path) {
    return nothing("already_current", "what is staged is installed and waits for a boot");
  }
  if (by.kind === "timer" && proves === null && policy !== "rolling") {
    return nothing("policy", `policy ${policy}: a person adopts`);
  }
  if (by.kind === "timer" && !probed) {
    return nothing("policy", "there is no probe: a person says whether what runs is good");
  }
  const refusal = offerRefusal(slots, candidate, facts, ask);
  if (refusal !== null) return refusal;
  const at = new Date(now).toISOString();
  const reasons: Reason[] = [];
  if (slots.pause !== null && isPaused(slots, now) && !despite.includes("pause")) {
    reasons.push(rule("pause", "paused", `${slots.pause.by}: ${slots.pause.reason}`, at));
  }
  const rejection = rejectionOf(slots, candidate.id);
  if (
    rejection !== null && stands(rejection, candidate.sequence, now) &&
    !despite.includes("rejection")
  ) {
    const until = rejection.retry_at === null ? "until `unreject`" : `until ${rejection.retry_at}`;
    const detail = `${rejection.class}, ${rejection.code}: ${rejection.detail} (${until})`;
    reasons.push(rule("rejection", "rejected", detail, at));
  }
  if (reasons.length > 0) return { kind: "wait", reasons };
  return { kind: "begin", purpose: proves === null ? "adopt" : "prove", staged };
}

/** What runs and was never proven, though it is what is staged, or offered. While a boot waits: none. */
function unproven({ staged, offered, pending, proven }: Slots, facts: Facts): Staged | null {
  const here = staged ??
    (offered === null ? null : { ...offered, path: offered.candidate.id });
  if (here === null || pending !== null || here.path !== facts.current) return null;
  return proven?.path === here.path ? null : here;
}

function nothingStaged(slots: Slots, facts: Facts): Admission {
  if (slots.offered === null) return nothing("no_candidate", "nothing is offered");
  return slots.offered.candidate.id === facts.current
    ? nothing("already_current", "what is offered runs already")
    : nothing("not_staged", "what is offered is not staged yet");
}

function offerRefusal(
  slots: Slots,
  candidate: Candidate,
  facts: Facts,
  ask: AdoptAsk,
): Admission | null {
  const against = offerAgainst(candidate, slots.withdrawn, ask.now);
  if (against !== null) return no(against.code, against.detail);
  const { proven } = slots;
  if (proven === null || proven.path !== facts.current || ask.despite.includes("downgrade")) {
    return null;
  }
  const older = Date.parse(candidate.committed_at) < Date.parse(proven.committed_at);
  if (!older || candidate.allow_downgrade_from.includes(proven.rev)) return null;
  return no(
    "local_generation_newer",
    `the candidate is of ${candidate.committed_at}, what runs is of ${proven.committed_at}`,
  );
}

function no(code: RefusalCode, detail: string): Admission {
  return { kind: "refused", code, detail };
}

function nothing(code: NothingCode, detail: string): Admission {
  return { kind: "nothing", code, detail };
}
