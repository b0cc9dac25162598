/**
 * A clock on which waiting takes no time: each sleep moves it on and returns at once.
 *
 * @module
 */

import type { Clock } from "../core/clock.ts";

/** Starts at 2026-01-01T00:00:00Z, monotonic 0. */
export class InstantClock implements Clock {
  #passed = 0;

  now(): number {
    return Date.UTC(2026, 0, 1) + this.#passed;
  }

  monotonic(): number {
    return this.#passed;
  }

  sleep(ms: number, signal?: AbortSignal): Promise<void> {
    if (signal?.aborted) return Promise.reject(signal.reason);
    this.#passed += ms;
    return Promise.resolve();
  }
}
