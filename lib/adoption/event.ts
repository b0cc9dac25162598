/**
 * What happens to an adopter: the events its journal holds, and the effects it owes.
 *
 * @module
 */

import type { Impact, Launch } from "./backend.ts";
import type { Candidate } from "./candidate.ts";
import type { Reason } from "./gate.ts";
import type { Attempt, By, Condemned, Overridden, Pause, RejectionClass, Slots } from "./slots.ts";
import type { Baseline, Evidence } from "./verdict.ts";

/** What an attempt begins with. */
export type Began = {
  readonly kind: "began";
  readonly attempt: string;
  readonly purpose: Attempt["purpose"];
  readonly path: string;
  readonly candidate: Candidate | null;
  readonly by: By;
  readonly overrides: Overridden | null;
  readonly at: string;
};

/** Everything that changes slots. `at` is ISO 8601. */
export type Event =
  // From outside, at any time.
  | { readonly kind: "snapshot"; readonly slots: Slots }
  | {
    readonly kind: "offered";
    readonly candidate: Candidate;
    readonly withdrawn: readonly string[];
    readonly payload_digest: string;
    readonly at: string;
  }
  /** The publisher's newest word offers nothing: it only takes back. */
  | {
    readonly kind: "taken_back";
    readonly channel: string;
    readonly sequence: number;
    readonly payload_digest: string;
    readonly withdrawn: readonly string[];
    readonly at: string;
  }
  | {
    readonly kind: "staged";
    readonly candidate: Candidate;
    readonly path: string;
    readonly at: string;
  }
  | {
    readonly kind: "rejected";
    readonly id: string;
    readonly sequence: number;
    readonly class: RejectionClass;
    readonly code: string;
    readonly detail: string;
    readonly at: string;
  }
  | { readonly kind: "unrejected"; readonly id: string; readonly by: string; readonly at: string }
  | { readonly kind: "paused"; readonly pause: Pause }
  | { readonly kind: "resumed"; readonly by: string; readonly at: string }
  /** A person looked and says the host may go on. */
  | { readonly kind: "recovered"; readonly by: string; readonly why: string; readonly at: string }
  | { readonly kind: "waited"; readonly reasons: readonly Reason[]; readonly at: string }
  | { readonly kind: "nothing_waits"; readonly at: string }
  /** What runs is what boots again: nothing waits for a boot any more. */
  | { readonly kind: "boot_cancelled"; readonly by: string; readonly at: string }
  | {
    readonly kind: "boot_other";
    readonly attempt: string;
    readonly found: string | null;
    readonly at: string;
  }
  | Began
  // The answers to effects.
  | {
    readonly kind: "baseline_taken";
    readonly baseline: Baseline;
    readonly previous: string | null;
    readonly revert_to: string | null;
    readonly impact: Impact;
  }
  | {
    readonly kind: "refused";
    readonly code: string;
    readonly detail: string;
    readonly class: RejectionClass | null;
    readonly at: string;
  }
  | { readonly kind: "baseline_stale" }
  | { readonly kind: "gates_busy"; readonly reasons: readonly Reason[]; readonly at: string }
  | {
    readonly kind: "launched";
    readonly launch: Launch;
    readonly boot_id: string;
    readonly at: string;
  }
  | { readonly kind: "superseded"; readonly found: string | null; readonly at: string }
  | { readonly kind: "judged_good"; readonly evidence: Evidence; readonly at: string }
  | { readonly kind: "judged_bad"; readonly condemned: Condemned; readonly at: string }
  | { readonly kind: "committed"; readonly problem: string | null; readonly at: string }
  | {
    readonly kind: "reverted_judged";
    readonly evidence: Evidence;
    readonly good: boolean;
    readonly at: string;
  }
  | {
    readonly kind: "unsettled";
    readonly code: string;
    readonly detail: string;
    readonly at: string;
  }
  | { readonly kind: "recorded"; readonly at: string }
  | { readonly kind: "collected"; readonly removed: number; readonly problem: string | null };

/** What is owed. Safe to perform twice: `again` says when an earlier run may have begun it. */
export type Effect =
  | { readonly kind: "baseline"; readonly attempt: string; readonly path: string }
  | {
    readonly kind: "activate" | "revert";
    readonly attempt: string;
    readonly path: string;
    readonly previous: string | null;
    readonly mode: "switch" | "boot";
  }
  /** Find out how a launch ended whose answer says nothing. */
  | {
    readonly kind: "inspect";
    readonly attempt: string;
    readonly step: "activate" | "revert";
    readonly path: string;
    readonly previous: string | null;
    readonly mode: "switch" | "boot";
  }
  | { readonly kind: "probe" | "probe_reverted"; readonly attempt: string; readonly path: string }
  | { readonly kind: "commit"; readonly attempt: string; readonly path: string }
  | { readonly kind: "record"; readonly attempt: string }
  | { readonly kind: "collect"; readonly after: string };
