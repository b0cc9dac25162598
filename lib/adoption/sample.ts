/**
 * Gates and probes, all side by side, each with a deadline of its own.
 *
 * @module
 */

import { type Clock, timestamp } from "../core/clock.ts";
import type { Gate, GateReading } from "./gate.ts";
import type { Probe, ProbeReading, Sample } from "./verdict.ts";

/** Longer words of others are cut: a gate may print what it likes. */
const MOST_DETAIL = 500;

/** Reads every gate; one that is late, or throws, is unknown. */
export async function readGates(
  gates: readonly Gate[],
  clock: Clock,
): Promise<readonly GateReading[]> {
  return await Promise.all(gates.map(async (gate): Promise<GateReading> => {
    const seen = await timed(gate.deadlineMs, clock, gate.read);
    const observed_at = timestamp(clock.now());
    if (seen.kind === "ok") {
      const { state, code, detail } = seen.value;
      return { gate: gate.name, state, code, detail: cut(detail), observed_at };
    }
    return { gate: gate.name, state: "unknown", code: seen.code, detail: seen.detail, observed_at };
  }));
}

/** Reads every probe; one that is late, or throws, is unknown. */
export async function readProbes(probes: readonly Probe[], clock: Clock): Promise<Sample> {
  const readings = await Promise.all(probes.map(async (probe): Promise<ProbeReading> => {
    const seen = await timed(probe.deadlineMs, clock, probe.read);
    if (seen.kind === "ok") {
      return { probe: probe.name, ...seen.value, detail: cut(seen.value.detail) };
    }
    const { code, detail } = seen;
    return { probe: probe.name, state: "unknown", code, detail, count: null };
  }));
  return { at: timestamp(clock.now()), readings };
}

type Timed<T> =
  | { readonly kind: "ok"; readonly value: T }
  | { readonly kind: "late"; readonly code: string; readonly detail: string };

/** A reader that ignores its signal is left behind, not waited for. */
async function timed<T>(
  deadlineMs: number,
  clock: Clock,
  read: (signal: AbortSignal) => Promise<T>,
): Promise<Timed<T>> {
  const stop = new AbortController();
  const over = new AbortController();
  const late = clock.sleep(deadlineMs, over.signal).then(
    (): Timed<T> => ({ kind: "late", code: "timed_out", detail: `no answer in ${deadlineMs} ms` }),
    () => null,
  );
  const asked = Promise.resolve().then(() => read(stop.signal)).then(
    (value): Timed<T> => ({ kind: "ok", value }),
    (error): Timed<T> => ({
      kind: "late",
      code: "adapter_failed",
      detail: cut(error instanceof Error ? `${error.name}: ${error.message}` : "threw"),
    }),
  );
  try {
    return await Promise.race([asked, late]) ?? await asked;
  } finally {
    stop.abort();
    over.abort();
  }
}

function cut(text: string): string {
  const plain = text.replaceAll(/\p{Cc}+/gu, " ").trim();
  return plain.length <= MOST_DETAIL ? plain : `${plain.slice(0, MOST_DETAIL).toWellFormed()}…`;
}
