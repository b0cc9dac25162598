/**
 * How one request of a benchmark ended: what was measured, and the answer for parity.
 *
 * @module
 */

import { z } from "zod";
import type { AnswerRecord } from "../evidence/record.ts";
import { recordShape } from "../evidence/record.ts";
import { round } from "./figures.ts";
import type { StreamTold } from "./answer_stream.ts";

/** Why there is no whole answer. One is counted once, under the first that holds. */
export const ERRORS = [
  "not_sent", // nothing listens there, or no connection came of it
  "no_answer", // it was sent, and the connection ended before a whole head
  "http_status", // an answer that is not 200
  "not_a_stream", // 200, and no event stream
  "engine_error", // the engine reported an error in the stream
  "stream_malformed", // an event that nobody can read
  "answer_too_large", // the engine does not stop
  "truncated", // the stream ended, or the framing did, without its end
  "broken", // the connection broke in the middle
  "wrong_tier", // the router answered from another tier than the one that is measured
  "timed_out", // longer than a request may take
  "cancelled", // begun, and the run was ended
  "interrupted", // begun, and the agent died
] as const;

/** One of {@link ERRORS}. */
export type AnswerError = (typeof ERRORS)[number];

/** Errors of our own doing: the engine had no chance to end the answer. */
export const OURS: ReadonlySet<string> = new Set<AnswerError>(["cancelled", "interrupted"]);

const milliseconds = z.number().min(0);

/** What is kept of one request. */
export const outcomeShape = z.strictObject({
  record: recordShape,
  /** Status of the answer, when there was one. */
  status: z.int().nullable(),
  /** What the engine stated of its own counts. */
  prompt_tokens: z.int().min(0).nullable(),
  completion_tokens: z.int().min(0).nullable(),
  /** Pieces that came; each holds one token or more. */
  chunks: z.int().min(0),
  /** From the first piece to the last. */
  generating_ms: milliseconds.nullable(),
  /** Between two pieces: the median and the longest. */
  gap_ms: z.strictObject({ p50: milliseconds, max: milliseconds }).nullable(),
});

/** One request, ended. */
export type Outcome = z.infer<typeof outcomeShape>;

/** Which request. */
export interface Asked {
  readonly prompt: string;
  readonly repeat: number;
}

/** When what happened, on one monotonic clock in milliseconds. */
export interface Times {
  readonly sent: number;
  readonly ended: number;
}

const FINISHES: ReadonlySet<string> = new Set(["stop", "length", "content_filter", "tool_calls"]);

/** The outcome of a stream that was read; `error` null only when it is whole. */
export function outcomeOf(
  asked: Asked,
  times: Times,
  told: StreamTold,
  error: AnswerError | null,
): Outcome {
  const { arrivals, usage, finish } = told;
  const [first] = arrivals;
  const last = arrivals.at(-1);
  const gaps = arrivals.slice(1).map((at, index) => at - (arrivals[index] ?? at));
  const sorted = gaps.toSorted((a, b) => a - b);
  const middle = sorted[Math.max(0, Math.ceil(sorted.length / 2) - 1)];
  const since = (at: number | undefined) =>
    at === undefined ? null : round(Math.max(0, at - times.sent));
  const known = finish === null ? null : FINISHES.has(finish) ? finish : "other";
  return {
    record: {
      ...asked,
      output: told.text,
      tokens: told.tokens === null ? null : [...told.tokens],
      top: told.top === null ? null : told.top.map((place) => place.map(([t, p]) => [t, p])),
      finish: known as AnswerRecord["finish"],
      refusal: told.refused,
      error,
      ttft_ms: since(first),
      total_ms: round(Math.max(0, times.ended - times.sent)),
    },
    status: 200,
    prompt_tokens: usage?.prompt ?? null,
    completion_tokens: usage?.completion ?? null,
    chunks: arrivals.length,
    generating_ms: first === undefined || last === undefined ? null : round(last - first),
    gap_ms: middle === undefined
      ? null
      : { p50: round(middle), max: round(sorted.at(-1) ?? middle) },
  };
}

/** The outcome of a request without an answer. */
export function unanswered(
  asked: Asked,
  error: AnswerError,
  more: { readonly status?: number; readonly totalMs?: number } = {},
): Outcome {
  return {
    record: {
      ...asked,
      output: "",
      tokens: null,
      top: null,
      finish: null,
      refusal: false,
      error,
      ttft_ms: null,
      total_ms: more.totalMs === undefined ? null : round(Math.max(0, more.totalMs)),
    },
    status: more.status ?? null,
    prompt_tokens: null,
    completion_tokens: null,
    chunks: 0,
    generating_ms: null,
    gap_ms: null,
  };
}
