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
 * @module
 */

import type { Facts } from "./backend.ts";
import { isExpired } from "./candidate.ts";
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
  /** Milliseconds since the epoch. */
  readonly now: number;
}

/** What follows. */
export type Admission =
  | { readonly kind: "begin"; readonly staged: Staged }
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
  const { by, despite, policy, now } = ask;
  if (slots.manual !== null) {
    const { code, detail } = slots.manual;
    return { kind: "refused", code: "manual_recovery", detail: `${code}: ${detail}` };
  }
  if (slots.staged === null) return nothingStaged(slots, facts);
  const { candidate, path } = slots.staged;
  if (path === facts.current) return nothing("already_current", "what is staged runs already");
  if (path === slots.pending?.path) {
    return nothing("already_current", "what is staged is installed and waits for a boot");
  }
  if (by.kind === "timer" && policy !== "rolling") {
    return nothing("policy", `policy ${policy}: a person adopts`);
  }
  const refusal = offerRefusal(slots, facts, ask);
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
  return reasons.length > 0 ? { kind: "wait", reasons } : { kind: "begin", staged: slots.staged };
}

function nothingStaged(slots: Slots, facts: Facts): Admission {
  if (slots.offered === null) return nothing("no_candidate", "nothing is offered");
  const same = slots.proven?.path === facts.current &&
    slots.proven?.sequence === slots.offered.candidate.sequence;
  return same
    ? nothing("already_current", "what is offered runs and is proven")
    : nothing("not_staged", "what is offered is not staged yet");
}

function offerRefusal(slots: Slots, facts: Facts, ask: AdoptAsk): Admission | null {
  const candidate = slots.staged?.candidate;
  if (candidate === undefined) return null;
  if (slots.withdrawn.includes(candidate.id)) {
    return no("candidate_withdrawn", "the publisher took the candidate back");
  }
  if (isExpired(candidate, ask.now)) return no("expired", `it expired at ${candidate.expires_at}`);
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
