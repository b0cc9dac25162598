/**
 * Slots: everything the adopter remembers between two runs. Each has a state of its own; they are
 * the fold of the journal and stand nowhere else.
 *
 * All of it is JSON: a compacted journal begins with one of these.
 *
 * @module
 */

import type { Candidate } from "./candidate.ts";
import type { Reason } from "./gate.ts";
import type { Baseline, Evidence } from "./verdict.ts";

/** Who asked, and whether it was a person. */
export type By = { readonly who: string; readonly kind: "timer" | "person" };

/** Rules a person may set aside, one by one. Each has a flag of its own: `--despite-...`. */
export const OVERRIDES = [
  "gates",
  "pause",
  "rejection",
  "baseline",
  "restart-sensitive",
  "downgrade",
] as const;
/** One of {@link OVERRIDES}. */
export type Override = (typeof OVERRIDES)[number];

/** What was set aside, by whom and why. */
export type Overridden = { readonly rules: readonly Override[]; readonly why: string };

/** A candidate that was verified. */
export type Offer = { readonly candidate: Candidate; readonly at: string };

/** A candidate whose bytes are here and were verified. */
export type Staged = { readonly candidate: Candidate; readonly path: string; readonly at: string };

/** Last known good: exactly this path got a good verdict. */
export type Proven = {
  readonly path: string;
  readonly rev: string;
  readonly sequence: number;
  readonly committed_at: string;
  readonly at: string;
  readonly attempt: string;
};

/** Whose fault it was decides what becomes of the candidate. */
export const REJECTION_CLASSES = ["integrity", "candidate", "environment"] as const;
/** One of {@link REJECTION_CLASSES}. */
export type RejectionClass = (typeof REJECTION_CLASSES)[number];

/** Why a target is not tried again, or not yet. */
export type Rejection = {
  readonly id: string;
  readonly sequence: number;
  readonly class: RejectionClass;
  readonly code: string;
  readonly detail: string;
  readonly count: number;
  readonly at: string;
  /** When it may be tried again by itself; null: never, until a person says so. */
  readonly retry_at: string | null;
};

/** Installed, and waiting for a boot. `back`: what waits is the way back from a bad candidate. */
export type PendingBoot = {
  readonly path: string;
  readonly candidate: Candidate | null;
  readonly direction: "forward" | "back";
  readonly previous: string | null;
  readonly revert_to: string | null;
  readonly baseline: Baseline | null;
  /** The boot in which it was installed. */
  readonly boot_id: string;
  readonly since: string;
};

/** Nobody adopts by timer until it ends. */
export type Pause = {
  readonly by: string;
  readonly reason: string;
  readonly at: string;
  /** When it ends by itself; null: when somebody says so. */
  readonly until: string | null;
};

/** A candidate waits, since when and what for. */
export type Waiting = {
  readonly since: string;
  readonly last: string;
  readonly count: number;
  readonly reasons: readonly Reason[];
};

/** Where an attempt stands. */
export type Phase =
  | "baseline" // what was so before
  | "activate" // gates, then the switch
  | "inspect" // nobody knows how the switch ended
  | "probe" // is it good?
  | "commit" // it is: make it what boots
  | "revert" // it is not: back
  | "probe_reverted" // is what we came back to good?
  | "ended"; // to be written into the receipts

/** How an attempt ended. */
export const ENDINGS = [
  "known-good",
  "rolled-back",
  "refused",
  "deferred",
  "pending-boot",
  "failed",
  "superseded",
  "other-generation-booted",
  "manual-recovery",
] as const;
/** One of {@link ENDINGS}. */
export type EndingKind = (typeof ENDINGS)[number];

/** An ending with its code and sentence. */
export type Ending = {
  readonly kind: EndingKind;
  readonly code: string;
  readonly detail: string;
  readonly reasons: readonly Reason[];
  readonly evidence: Evidence | null;
};

/** One try to make one path the running one, or to prove that it is good. */
export type Attempt = {
  readonly id: string;
  /**
   * `prove`: what runs already is judged, and nothing is touched. `back`: what runs was judged bad
   * so, and the last proven generation is to run again.
   */
  readonly purpose: "adopt" | "rollback" | "prove" | "back" | "post-boot" | "post-boot-back";
  readonly path: string;
  readonly candidate: Candidate | null;
  readonly previous: string | null;
  readonly revert_to: string | null;
  readonly by: By;
  readonly overrides: Overridden | null;
  readonly began_at: string;
  readonly phase: Phase;
  readonly mode: "switch" | "boot";
  readonly baseline: Baseline | null;
  /** Why the way back is gone, once a verdict was bad. Of `back`: what fails on the earlier one too. */
  readonly condemned: Condemned | null;
  readonly ending: Ending | null;
};

/** A bad verdict. */
export type Condemned = {
  readonly class: RejectionClass;
  readonly code: string;
  readonly detail: string;
  readonly evidence: Evidence | null;
};

/** The last attempt that ended. */
export type Last = {
  readonly attempt: string;
  readonly purpose: Attempt["purpose"];
  readonly path: string;
  readonly previous: string | null;
  readonly rev: string | null;
  readonly by: By;
  readonly overrides: Overridden | null;
  readonly began_at: string;
  readonly ended_at: string;
  readonly ending: Ending;
};

/** A state only a person can leave. */
export type Manual = {
  readonly attempt: string;
  readonly code: string;
  readonly detail: string;
  readonly at: string;
};

/** All of it. */
export type Slots = {
  /** The highest that was ever verified, by channel. Nothing lower is taken again. */
  readonly floor: {
    readonly [channel: string]: { readonly sequence: number; readonly payload_digest: string };
  };
  readonly offered: Offer | null;
  readonly staged: Staged | null;
  readonly attempt: Attempt | null;
  readonly pending: PendingBoot | null;
  readonly proven: Proven | null;
  readonly rejected: readonly Rejection[];
  /** Targets the publisher took back. */
  readonly withdrawn: readonly string[];
  readonly pause: Pause | null;
  readonly waiting: Waiting | null;
  readonly manual: Manual | null;
  readonly last: Last | null;
  /** True after a verdict, until retention has run. */
  readonly collect: boolean;
};

/** A host that never adopted anything. */
export const NO_SLOTS: Slots = {
  floor: {},
  offered: null,
  staged: null,
  attempt: null,
  pending: null,
  proven: null,
  rejected: [],
  withdrawn: [],
  pause: null,
  waiting: null,
  manual: null,
  last: null,
  collect: false,
};

/** The rejection that stands against `id`, if any. */
export function rejectionOf(slots: Slots, id: string): Rejection | null {
  return slots.rejected.find((one) => one.id === id) ?? null;
}
