/**
 * From a benchmark's journal to what is kept of it: the document, and the records it was made of.
 * The same journal gives the same bytes, so that a conclusion cut off by a full disk is made again.
 *
 * @module
 */

import type { Distribution, Evidence } from "../evidence/evidence_shape.ts";
import { digestOf, type Named, writeEvidence } from "../evidence/evidence.ts";
import { recordsText } from "../evidence/record.ts";
import { worstOf } from "./conditions.ts";
import { distributionOf, round } from "./figures.ts";
import { OURS, type Outcome } from "./outcome.ts";
import { type BenchmarkState, leftOf } from "./run_state.ts";

/** What is kept. */
export interface Conclusion {
  readonly evidence: Named<Evidence> & { readonly bytes: Uint8Array<ArrayBuffer> };
  /** The file of records; null when no request was sent. */
  readonly records: Uint8Array<ArrayBuffer> | null;
}

/** Concludes a benchmark: complete, or as far as it came. */
export async function conclude(state: BenchmarkState): Promise<Conclusion> {
  const { benchmark } = state;
  const ends = outcomesOf(state);
  const records = ends.map(({ record }) => record);
  const bytes = records.length === 0 ? null : new TextEncoder().encode(recordsText(records));
  const evidence = await writeEvidence({
    schema: "evidence/v1",
    run: {
      id: benchmark.id,
      started_at: state.startedAt,
      // A wall clock that was set back must not make it end before it began.
      ended_at: state.endedAt < state.startedAt ? state.startedAt : state.endedAt,
      complete: leftOf(state) === 0,
      resumed: Math.max(0, state.sessions - 1),
    },
    subject: benchmark.subject,
    through: benchmark.through,
    host: benchmark.host,
    conditions: worstOf(state.looks),
    workload: benchmark.workload,
    measures: measuresOf(ends, state.tookMs),
    records: bytes === null
      ? null
      : { digest: await digestOf(bytes), bytes: bytes.length, count: records.length },
    tool: benchmark.tool,
  });
  return { evidence, records: bytes };
}

/** Every request that was sent and how it ended, in the order of the workload. */
export function outcomesOf({ answered }: BenchmarkState): readonly Outcome[] {
  return [...answered].toSorted(([a], [b]) => a - b).map(([, outcome]) => outcome);
}

/** The figures of `ends`, which took `tookMs` together; null: nobody knows how long. */
export function measuresOf(ends: readonly Outcome[], tookMs: number | null): Evidence["measures"] {
  const whole = ends.filter(({ record }) => record.error === null);
  const ours = ends.filter(({ record }) => OURS.has(record.error ?? ""));
  const failed = ends.length - whole.length - ours.length;
  const counted = countedBy(whole);
  const completion = counted === "none" ? null : sum(whole.map((one) => tokensOf(one, counted)));
  const rates = whole.flatMap((end) => rateOf(end) ?? []);
  return {
    requests: {
      sent: ends.length,
      completed: whole.length,
      failed,
      cancelled: ours.length,
    },
    tokens: {
      prompt: sum(whole.map(({ prompt_tokens }) => prompt_tokens)),
      completion,
      counted_by: counted,
    },
    ttft_ms: distributionOf(numbers(whole.map(({ record }) => record.ttft_ms))),
    total_ms: distributionOf(numbers(whole.map(({ record }) => record.total_ms))),
    tokens_per_second: distributionOf(rates),
    throughput: completion === null || tookMs === null || tookMs <= 0
      ? null
      : round(completion * 1000 / tookMs),
    errors: errorsOf(ends),
  };
}

/** Pauses between the pieces of answers: the median of each, and the longest of each. */
export function gapsOf(
  ends: readonly Outcome[],
): { readonly p50: Distribution | null; readonly max: Distribution | null } {
  const gaps = ends.flatMap((one) => one.record.error === null ? one.gap_ms ?? [] : []);
  return {
    p50: distributionOf(gaps.map((one) => one.p50)),
    max: distributionOf(gaps.map((one) => one.max)),
  };
}

/** The engine's own counts only when it stated them for every answer: no sum of two kinds. */
function countedBy(whole: readonly Outcome[]): "engine" | "chunks" | "none" {
  if (whole.length === 0) return "none";
  return whole.every((one) => one.completion_tokens !== null) ? "engine" : "chunks";
}

function tokensOf(end: Outcome, by: "engine" | "chunks"): number {
  return by === "engine" ? end.completion_tokens ?? 0 : end.chunks;
}

/** Tokens per second after the first; null for an answer too short to have a rate. */
function rateOf(end: Outcome): number | null {
  const { generating_ms: ms } = end;
  const tokens = end.completion_tokens ?? end.chunks;
  return ms === null || ms <= 0 || tokens < 2 ? null : round((tokens - 1) * 1000 / ms);
}

function errorsOf(ends: readonly Outcome[]): { code: string; count: number }[] {
  const counts = new Map<string, number>();
  for (const { record: { error }, status } of ends) {
    if (error === null || OURS.has(error)) continue;
    const code = error === "http_status" && status !== null ? `http_${status}` : error;
    counts.set(code, (counts.get(code) ?? 0) + 1);
  }
  const sorted = [...counts].toSorted(([a], [b]) => a < b ? -1 : 1);
  const [kept, rest] = [sorted.slice(0, MOST_CODES), sorted.slice(MOST_CODES)];
  const other = rest.reduce((sum, [, count]) => sum + count, 0);
  const all = kept.map(([code, count]) => ({ code, count }));
  return other === 0 ? all : [...all, { code: "other", count: other }];
}

/** Kinds of error told apart; an engine that invents statuses must not spoil the document. */
const MOST_CODES = 63;

function numbers(values: readonly (number | null)[]): number[] {
  return values.filter((value) => value !== null);
}

function sum(values: readonly (number | null)[]): number | null {
  return values.some((value) => value === null) || values.length === 0
    ? null
    : numbers(values).reduce((a, b) => a + b, 0);
}
