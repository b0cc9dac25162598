/**
 * The walk's one clock: monotonic, from its begin.
 *
 * @module
 */

const began = performance.now();
const beganEpoch = Date.now();

/** Milliseconds since the program began. */
export function elapsed(): number {
  return performance.now() - began;
}

/** A time of the machine's wall clock, as milliseconds since the program began. */
export function sinceBegin(epochMs: number): number {
  return epochMs - beganEpoch;
}

/** Waits, or ends early when `signal` says so. */
export async function pause(ms: number, signal?: AbortSignal): Promise<void> {
  if (signal?.aborted === true) return;
  const over = Promise.withResolvers<void>();
  const timer = setTimeout(over.resolve, Math.max(0, ms));
  signal?.addEventListener("abort", () => over.resolve(), { once: true });
  await over.promise;
  clearTimeout(timer);
}
