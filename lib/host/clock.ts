/**
 * The clock of this machine.
 *
 * @module
 */

import type { Clock } from "../core/clock.ts";

/** `setTimeout` takes 31 bits of milliseconds and fires at once beyond that. */
const LONGEST_TIMER_MS = 2 ** 31 - 1;

/** Wall clock, monotonic clock, timers. */
export const systemClock: Clock = {
  now: () => Date.now(),
  monotonic: () => performance.now(),
  sleep,
};

async function sleep(ms: number, signal?: AbortSignal): Promise<void> {
  let left = ms;
  for (; left > LONGEST_TIMER_MS; left -= LONGEST_TIMER_MS) await once(LONGEST_TIMER_MS, signal);
  await once(left, signal);
}

function once(ms: number, signal?: AbortSignal): Promise<void> {
  if (signal?.aborted) return Promise.reject(signal.reason);
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const onAbort = () => {
    clearTimeout(timer);
    reject(signal?.reason);
  };
  const timer = setTimeout(() => {
    signal?.removeEventListener("abort", onAbort);
    resolve();
  }, ms);
  signal?.addEventListener("abort", onAbort, { once: true });
  return promise;
}
