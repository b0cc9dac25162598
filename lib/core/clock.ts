/**
 * Time is an argument, waiting is a port.
 *
 * @module
 */

/** Where rooms that decide get the time from, and how they wait. */
export interface Clock {
  /** Milliseconds since the Unix epoch. May jump: for records, never for durations. */
  now(): number;
  /** Milliseconds on a clock that never goes back: for durations and deadlines. */
  monotonic(): number;
  /** Resolves after `ms`; rejects with the signal's reason when `signal` aborts first. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>;
}

/** `now` as the records write it: ISO 8601, UTC, milliseconds. */
export function timestamp(ms: number): string {
  const second = Math.floor(ms / 1000);
  if (second !== known.second) {
    known = { second, text: new Date(second * 1000).toISOString().slice(0, -4) };
  }
  return `${known.text}${String(Math.floor(ms) - second * 1000).padStart(3, "0")}Z`;
}

/** The second written last: formatting a date takes longer than the rest of a record. */
let known = { second: NaN, text: "" };
