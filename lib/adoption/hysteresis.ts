/**
 * Idle for so long: a gate that is clear this moment was perhaps busy a moment ago.
 *
 * @module
 */

import type { GateReading } from "./gate.ts";

/** Since when each gate has been clear without interruption, ISO 8601, and when that was last seen. */
export type Remembered = {
  readonly [gate: string]: { readonly clear_since: string; readonly seen: string };
};

/**
 * Takes `readings` in at `now`. A gate named in `idleMs` stays busy until it was clear for so many
 * milliseconds: every look saw it clear, and no two looks were further apart than that time, for
 * then nothing is known of what lay between.
 */
export function settleIdle(
  remembered: Remembered,
  readings: readonly GateReading[],
  idleMs: { readonly [gate: string]: number },
  now: number,
): { readonly readings: readonly GateReading[]; readonly remembered: Remembered } {
  const at = new Date(now).toISOString();
  const next: { [gate: string]: { readonly clear_since: string; readonly seen: string } } = {};
  const settled = readings.map((reading): GateReading => {
    const need = idleMs[reading.gate];
    if (need === undefined || reading.state !== "clear") return reading;
    const before = remembered[reading.gate];
    const kept = before !== undefined && now >= Date.parse(before.seen) &&
      now - Date.parse(before.seen) <= need;
    const since = kept ? before.clear_since : at;
    next[reading.gate] = { clear_since: since, seen: at };
    const idle = now - Date.parse(since);
    if (idle >= need) return reading;
    return {
      ...reading,
      state: "busy",
      code: "idle_not_long_enough",
      detail: `idle for ${Math.floor(idle / 1000)} s, of ${Math.ceil(need / 1000)} s wanted`,
    };
  });
  return { readings: settled, remembered: next };
}
