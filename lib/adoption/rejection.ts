/**
 * Rejections: whose fault it was decides whether and when a target is tried again.
 *
 * | class         | what happened                          | tried again                                |
 * | ------------- | -------------------------------------- | ------------------------------------------ |
 * | `integrity`   | bytes are not what was signed          | when a newer offer of it comes; `unreject` |
 * | `candidate`   | the right bytes do not work here       | after `unreject`                           |
 * | `environment` | disk, network or host were in the way  | by itself, later and later                 |
 *
 * @module
 */

import type { Rejection, RejectionClass } from "./slots.ts";

/** The first wait of an environment fault, in milliseconds; each repeat doubles it. */
export const FIRST_RETRY_MS = 5 * 60_000;
/** No wait is longer, in milliseconds. */
export const LONGEST_RETRY_MS = 6 * 3_600_000;
/** More rejections than this are not kept; the oldest environment faults go first. */
const MOST = 64;

/** Adds a rejection at `now`, or counts the one there is. */
export function reject(
  rejected: readonly Rejection[],
  fault: {
    readonly id: string;
    readonly sequence: number;
    readonly class: RejectionClass;
    readonly code: string;
    readonly detail: string;
  },
  now: number,
): readonly Rejection[] {
  const before = rejected.find(({ id }) => id === fault.id);
  const count = (before?.class === fault.class ? before.count : 0) + 1;
  const wait = Math.min(FIRST_RETRY_MS * 2 ** Math.min(count - 1, 20), LONGEST_RETRY_MS);
  const one: Rejection = {
    id: fault.id,
    sequence: fault.sequence,
    class: fault.class,
    code: fault.code,
    detail: fault.detail,
    count,
    at: new Date(now).toISOString(),
    retry_at: fault.class === "environment" ? new Date(now + wait).toISOString() : null,
  };
  const rest = rejected.filter(({ id }) => id !== fault.id);
  const room = rest.length < MOST ? rest : dropped(rest);
  return [...room, one];
}

/** True while the rejection stands against an offer of `sequence` at `now`. */
export function stands(rejection: Rejection, sequence: number, now: number): boolean {
  switch (rejection.class) {
    case "candidate":
      return true;
    case "integrity":
      return sequence <= rejection.sequence;
    case "environment":
      return rejection.retry_at !== null && now < Date.parse(rejection.retry_at);
  }
}

function dropped(rejected: readonly Rejection[]): readonly Rejection[] {
  const index = rejected.findIndex((one) => one.class === "environment");
  return rejected.filter((_, at) => at !== Math.max(index, 0));
}
