/**
 * A benchmark as its journal tells it. Folded from the file at any time, by a live run, by a later
 * one that goes on with it, and by whoever asks how it is.
 *
 *     begun ──> session ──> asked n ──> answered n ──> … ──> session end ──> ended
 *                  ^            │ the agent died: never asked again
 *                  └── resume: what was asked and not answered is `interrupted`
 *
 * A request is written down before it is sent and after it has ended. One that was sent is never
 * sent again: not by a retry, and not by a resume.
 *
 * @module
 */

import { z } from "zod";
import type { Json } from "../core/canonical_json.ts";
import {
  conditionsShape,
  digestShape,
  hostShape,
  subjectShape,
  throughShape,
  workloadShape,
} from "../evidence/evidence_shape.ts";
import { momentShape } from "../adoption/keys.ts";
import { type Asked, type Outcome, outcomeShape, unanswered } from "./outcome.ts";

/** What a benchmark measures and how, from its first line on. */
export const benchmarkShape = z.strictObject({
  id: z.string().regex(/^bench-\d{6}$/),
  subject: subjectShape,
  through: throughShape,
  host: hostShape,
  workload: workloadShape,
  /** Alternatives asked for at each token; 0: none. */
  top_logprobs: z.int().min(0).max(20),
  /** How long one request may take. */
  request_seconds: z.int().min(1).max(3600),
  /** Ids of the corpus' prompts, in order. */
  prompts: z.array(z.string()).min(1).max(1000),
  tool: z.strictObject({
    name: z.string(),
    version: z.string(),
    build_digest: digestShape.nullable(),
  }),
});

/** A benchmark's plan. */
export type Benchmark = z.infer<typeof benchmarkShape>;

/** How a session ended that was not cut off. */
export const ENDINGS = [
  "complete",
  "cancelled",
  "deadline",
  "stopped",
  "target_lost",
  "conditions_changed", // something was changed on its host, which goes first
] as const;

/** One of {@link ENDINGS}. */
export type Ending = (typeof ENDINGS)[number];

/** One line of the journal. `index` counts requests: repeats one after the other, prompts in order. */
export const eventShape = z.discriminatedUnion("kind", [
  z.strictObject({ kind: z.literal("begun"), benchmark: benchmarkShape, at: momentShape }),
  /** Somebody works on it, from now on. */
  z.strictObject({
    kind: z.literal("session"),
    run: z.string(),
    conditions: conditionsShape.nullable(),
    /** The newest change of the host then, and how it stood; null: nobody knows. */
    change: z.exactOptional(z.string().nullable()),
    at: momentShape,
  }),
  z.strictObject({ kind: z.literal("asked"), index: z.int().min(0), at: momentShape }),
  z.strictObject({
    kind: z.literal("answered"),
    index: z.int().min(0),
    outcome: outcomeShape,
    at: momentShape,
  }),
  z.strictObject({
    kind: z.literal("looked"),
    conditions: conditionsShape,
    at: momentShape,
  }),
  z.strictObject({
    kind: z.literal("ended"),
    how: z.enum(ENDINGS),
    /** From the first request to the last answer, by a clock that does not jump. */
    took_ms: z.number().min(0),
    /** What it gave way to; absent when to nothing. */
    by: z.exactOptional(z.string()),
    at: momentShape,
  }),
  /** Nothing follows. */
  z.strictObject({ kind: z.literal("concluded"), evidence: digestShape, at: momentShape }),
]);

/** One thing that happened. */
export type BenchmarkEvent = z.infer<typeof eventShape>;

/** Reads a line of a journal; null when it is none. */
export function eventOf(value: Json): BenchmarkEvent | null {
  const read = eventShape.safeParse(value);
  return read.success ? read.data : null;
}

/** Where a benchmark stands. */
export interface BenchmarkState {
  readonly benchmark: Benchmark;
  readonly startedAt: string;
  readonly endedAt: string;
  readonly sessions: number;
  /** Runs of the agent that worked on it, oldest first. */
  readonly runs: readonly string[];
  readonly asked: ReadonlySet<number>;
  readonly answered: ReadonlyMap<number, Outcome>;
  readonly looks: readonly z.infer<typeof conditionsShape>[];
  /** How the newest session ended; null while it goes on, or when it was cut off. */
  readonly ending: Ending | null;
  /** What the newest session gave way to; null when to nothing. */
  readonly endedBy: string | null;
  /** The host's newest change when it began; undefined in journals written before that was said. */
  readonly change: string | null | undefined;
  /** Milliseconds in which requests were under way; null once a session was cut off. */
  readonly tookMs: number | null;
  /** Digest of the document; null until there is one. */
  readonly evidence: string | null;
}

/** The state after `events`; null before the first. Throws for a journal that contradicts itself. */
export function foldBenchmark(events: readonly BenchmarkEvent[]): BenchmarkState | null {
  return events.reduce<BenchmarkState | null>(stepBenchmark, null);
}

/** One event on. */
export function stepBenchmark(
  state: BenchmarkState | null,
  event: BenchmarkEvent,
): BenchmarkState {
  if (event.kind === "begun") {
    if (state !== null) throw new TypeError("a benchmark began twice");
    return {
      benchmark: event.benchmark,
      startedAt: event.at,
      endedAt: event.at,
      sessions: 0,
      runs: [],
      asked: new Set(),
      answered: new Map(),
      looks: [],
      ending: null,
      endedBy: null,
      change: undefined,
      tookMs: 0,
      evidence: null,
    };
  }
  if (state === null) throw new TypeError("a benchmark has no beginning");
  const now = { ...state, endedAt: event.at };
  switch (event.kind) {
    case "session": {
      const answered = new Map(state.answered);
      for (const index of state.asked) {
        if (!answered.has(index)) {
          answered.set(index, unanswered(askedAt(state.benchmark, index), "interrupted"));
        }
      }
      const looks = event.conditions === null ? state.looks : [...state.looks, event.conditions];
      const runs = [...state.runs, event.run];
      // A session before this one that has no end was cut off: nobody knows how long it took.
      const cut = state.sessions > 0 && state.ending === null;
      const tookMs = cut ? null : state.tookMs;
      return {
        ...now,
        ...{ sessions: state.sessions + 1, runs, answered, looks, tookMs },
        change: state.sessions === 0 ? event.change : state.change,
        // What it concluded to before is only a part of it now.
        ...{ ending: null, endedBy: null, evidence: null },
      };
    }
    case "asked":
      if (state.asked.has(event.index)) {
        throw new TypeError(`request ${event.index} was asked twice`);
      }
      return { ...now, asked: new Set(state.asked).add(event.index) };
    case "answered":
      if (!state.asked.has(event.index)) {
        throw new TypeError(`request ${event.index} was not asked`);
      }
      return { ...now, answered: new Map(state.answered).set(event.index, event.outcome) };
    case "looked":
      return { ...now, looks: [...state.looks, event.conditions] };
    case "ended":
      return {
        ...now,
        ending: event.how,
        endedBy: event.by ?? null,
        tookMs: state.tookMs === null ? null : state.tookMs + event.took_ms,
      };
    case "concluded":
      return { ...state, evidence: event.evidence };
  }
}

/** How many requests it has. */
export function requestsOf({ prompts, workload }: Benchmark): number {
  return prompts.length * workload.repeats;
}

/** Which prompt request `index` asks. */
export function askedAt({ prompts }: Benchmark, index: number): Asked {
  const id = prompts[index % prompts.length];
  if (id === undefined) throw new TypeError("no prompts");
  return { prompt: id, repeat: Math.floor(index / prompts.length) };
}

/** The requests that are owed next while `open` are under way: as many as may be at once. */
export function owedRequests(state: BenchmarkState, open: number): readonly number[] {
  const { benchmark, asked } = state;
  const owed: number[] = [];
  const most = benchmark.workload.concurrency - open;
  for (let index = 0; index < requestsOf(benchmark) && owed.length < most; index++) {
    if (!asked.has(index)) owed.push(index);
  }
  return owed;
}

/** What is left to ask. */
export function leftOf(state: BenchmarkState): number {
  return requestsOf(state.benchmark) - state.asked.size;
}
