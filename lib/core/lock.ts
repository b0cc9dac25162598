/**
 * The lock port: one holder per path, on this machine, until it lets go or dies.
 *
 * Every implementation passes `lib/testing/lock_conformance.ts`. There is no waiting: a second
 * writer is told so and says so. The operating system releases the lock of a killed process, so
 * there is no stale lock and nobody ever deletes the file.
 *
 * @module
 */

import type { Refusal } from "./refusal.ts";

/** What an attempt gave. */
export type LockOutcome =
  | HeldLock
  | { readonly kind: "busy" }
  /** The lock file cannot be opened or created. */
  | (Refusal<"lock_unavailable"> & { readonly cause: string });

/** The lock is ours until `release`, more than once is fine, or `await using` ends. */
export interface HeldLock extends AsyncDisposable {
  readonly kind: "held";
  release(): Promise<void>;
}

/** Tries once to become the single holder of the lock file at `path`, made with mode 0600. */
export type TryLock = (path: string) => Promise<LockOutcome>;
