/**
 * A clock that stands still until a test moves it.
 *
 * @module
 */

import type { Clock } from "../core/clock.ts";

interface Sleeper {
  readonly due: number;
  readonly wake: () => void;
}

/** Starts at 2026-01-01T00:00:00Z, monotonic 0. */
export class FakeClock implements Clock {
  #wall = Date.UTC(2026, 0, 1);
  #monotonic = 0;
  readonly #sleepers = new Set<Sleeper>();

  now(): number {
    return this.#wall;
  }

  monotonic(): number {
    return this.#monotonic;
  }

  sleep(ms: number, signal?: AbortSignal): Promise<void> {
    if (signal?.aborted) return Promise.reject(signal.reason);
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const onAbort = () => {
      this.#sleepers.delete(sleeper);
      reject(signal?.reason);
    };
    const sleeper: Sleeper = {
      due: this.#monotonic + ms,
      wake: () => {
        signal?.removeEventListener("abort", onAbort);
        resolve();
      },
    };
    this.#sleepers.add(sleeper);
    signal?.addEventListener("abort", onAbort, { once: true });
    return promise;
  }

  /** How many wait. */
  get sleeping(): number {
    return this.#sleepers.size;
  }

  /** Lets `ms` pass: wakes each sleeper at its own time, and lets what it woke run before going on. */
  async advance(ms: number): Promise<void> {
    const until = this.#monotonic + ms;
    await settled();
    for (let next = this.#next(until); next !== null; next = this.#next(until)) {
      this.#moveTo(next.due);
      this.#sleepers.delete(next);
      next.wake();
      await settled();
    }
    this.#moveTo(until);
  }

  /** Sets the wall clock forward or back, as an operator or NTP does; durations do not notice. */
  jump(ms: number): void {
    this.#wall += ms;
  }

  #next(until: number): Sleeper | null {
    let next: Sleeper | null = null;
    for (const sleeper of this.#sleepers) {
      if (sleeper.due <= until && (next === null || sleeper.due < next.due)) next = sleeper;
    }
    return next;
  }

  #moveTo(monotonic: number): void {
    if (monotonic <= this.#monotonic) return;
    this.#wall += monotonic - this.#monotonic;
    this.#monotonic = monotonic;
  }
}

/** One turn of the event loop: every promise that can go on has gone on. */
function settled(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, 0));
}
