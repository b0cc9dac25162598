/**
 * What operators do in a walk, as values.
 *
 * @module
 */

/** A kind of act, and how likely it is. */
export const ACTS = {
  /** A tier is drained, then readmitted. */
  drain: 4,
  /** An exclusive mode is entered, then left. */
  mode: 2,
  /** An alias gets another model, then the old one again. */
  promote: 2,
  /** A serve is stopped and started. */
  restart_serve: 4,
  /** A client of the agent gets another token; the old ones end. */
  rotate_token: 4,
  /** A client of the agent is made, and revoked. */
  issue_token: 2,
  /** Stage and adopt, through the agent. */
  adopt: 4,
  rollback: 1,
  /** Adoption is paused, then resumed. */
  hold: 1,
  publish_good: 5,
  /** Its probe fails. */
  publish_bad: 3,
  /** An envelope that was changed after it was signed. */
  publish_tampered: 2,
  /** A candidate of another host in this host's place. */
  publish_other: 1,
  /** `anvil-operator fleet`, a process of its own. */
  look: 3,
} as const;

/** One of {@link ACTS}. */
export type ActKind = keyof typeof ACTS;

/** Something an operator does. `at` in milliseconds from the walk's begin. */
export interface Act {
  readonly at: number;
  readonly kind: ActKind;
  readonly host: string;
  /** Unique in the walk: idempotency keys and revisions are made of it. */
  readonly name: string;
  /** How often each mutation is sent again with the same key. */
  readonly again: number;
  /** Sent again beside the first, or after its answer. */
  readonly atOnce: boolean;
}
