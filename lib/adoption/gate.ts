/**
 * Gates: local facts that say whether the host may be disturbed now. What is not known defers.
 *
 *     readings of all gates, taken side by side ──admission──> clear | deferred, with every reason
 *
 * @module
 */

import type { Remembered } from "./hysteresis.ts";

/** What a gate says. */
export type GateState = "clear" | "busy" | "unknown";

/** What one gate saw. */
export type GateReading = {
  readonly gate: string;
  readonly state: GateState;
  /** Stable: `requests_in_flight`, `unit_active`, `timed_out`. */
  readonly code: string;
  /** One sentence: what was observed. */
  readonly detail: string;
  /** ISO 8601. */
  readonly observed_at: string;
};

/** Why a host is not disturbed now: a reading that is not clear, or a rule that says no. */
export type Reason = {
  readonly gate: string;
  readonly state: "busy" | "unknown" | "rule";
  readonly code: string;
  readonly detail: string;
  readonly observed_at: string;
};

/** One configured gate. `read` never rejects for what it sees and gives up when `signal` aborts. */
export interface Gate {
  readonly name: string;
  readonly read: (signal: AbortSignal) => Promise<Observed>;
  /** How long it may take, in milliseconds. */
  readonly deadlineMs: number;
}

/** What a gate found, before it has a name and a time. */
export interface Observed {
  readonly state: GateState;
  readonly code: string;
  readonly detail: string;
}

/** Where hysteresis of idle gates remembers when something was last busy. */
export interface GateMemory {
  read(): Promise<Remembered>;
  write(remembered: Remembered): Promise<void>;
}

/** Shorthand for an {@link Observed}. */
export function observed(state: GateState, code: string, detail: string): Observed {
  return { state, code, detail };
}

/** All that stands in the way, in the order of the gates. Empty: nothing does. */
export function reasonsOf(readings: readonly GateReading[]): readonly Reason[] {
  return readings.flatMap(({ state, ...rest }) => state === "clear" ? [] : [{ ...rest, state }]);
}

/** A reason that is a rule of ours, not a gate. */
export function rule(gate: string, code: string, detail: string, at: string): Reason {
  return { gate, state: "rule", code, detail, observed_at: at };
}
