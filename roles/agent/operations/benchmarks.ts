/**
 * `benchmarks.run|status|cancel|result`, `evidence.list|get`: measure a model of this host, and hand
 * over what came of it.
 *
 * @module
 */

import { z } from "zod";
import { ID_PATTERN } from "../../../lib/core/ids.ts";
import { type Refusal, refuse } from "../../../lib/core/refusal.ts";
import {
  digestShape,
  subjectShape,
  textShape,
  throughShape,
} from "../../../lib/evidence/evidence_shape.ts";
import { EVIDENCE_ID_PATTERN } from "../../../lib/evidence/evidence.ts";
import { handoverShape, resultInputShape } from "../../../lib/evidence/handover.ts";
import {
  defineMutation,
  defineRead,
  type Operation,
  type Ran,
} from "../../../lib/operation/operation.ts";
import { leftOf, requestsOf } from "../../../lib/benchmark/run_state.ts";
import type { Bench, Prepared } from "../benchmarks/bench.ts";
import { progressText, type SessionEnd } from "../benchmarks/session.ts";
import type { BenchmarkStore } from "../benchmarks/store.ts";
import { BENCHMARK_HOSTS } from "../host_roles.ts";
import {
  benchmarkId,
  benchmarksOf,
  handoverNamed,
  handoverOf,
  standingShape,
  summaryOf,
  summaryShape,
} from "./benchmarks_shown.ts";

/** What these operations act through. */
export interface BenchmarkParts {
  readonly bench: Bench;
  readonly store: BenchmarkStore;
}

/** Three hours of requests, and what begins and ends them. */
const RUN_MS = 4 * 3600 * 1000;
const MOST_SECONDS = 3 * 3600;
/** Proofs ask a runtime and an engine. */
const LOOK_MS = 30_000;

const inputShape = z.strictObject({
  target: z.strictObject({
    kind: z.enum(["serve", "member", "alias"]).describe(
      "A serve of serves.toml, an engine of `benchmarks.members` in agent.toml, or through the router.",
    ),
    name: textShape(256),
  }).optional().describe("Required, but with `resume`."),
  corpus: z.string().regex(ID_PATTERN).optional().describe(
    "A shipped corpus, as `chat`. Required, but with `resume`.",
  ),
  corpus_digest: digestShape.optional().describe("Refused when the corpus here is another one."),
  repeats: z.int().min(1).max(100).optional().describe(
    "Times each prompt is asked; 1 when absent.",
  ),
  concurrency: z.int().min(1).max(64).optional().describe("Requests at a time; 1 when absent."),
  top_logprobs: z.int().min(0).max(20).optional().describe(
    "Likeliest tokens asked for at each place, for parity; 5 when absent, 0: none.",
  ),
  request_seconds: z.int().min(1).max(3600).optional().describe(
    "How long one request may take; 120 when absent.",
  ),
  deadline_seconds: z.int().min(1).max(MOST_SECONDS).default(1800).describe(
    "After it nothing more is asked; what is left can be gone on with.",
  ),
  resume: benchmarkId.optional().describe(
    "Goes on with a benchmark that did not come to its end; alone, but for `deadline_seconds`.",
  ),
});
type Input = z.infer<typeof inputShape>;

const planShape = z.strictObject({
  /** Null: a new one. */
  benchmark: benchmarkId.nullable(),
  subject: subjectShape,
  through: throughShape,
  corpus: z.strictObject({ name: z.string(), digest: digestShape }),
  requests: z.int(),
  left: z.int(),
  concurrency: z.int(),
  max_tokens: z.int(),
  deadline_seconds: z.int(),
  availability: z.string(),
});

/** The four, and `evidence.list|get`: what came of benchmarks, by the names of the documents. */
export function benchmarkOperations(parts: BenchmarkParts): Operation[] {
  const { bench, store } = parts;
  return [
    defineMutation({
      name: "benchmarks.run",
      brief: "Measure a model of this host with a shipped corpus, or go on with that",
      effect: "mutate",
      destructive: false,
      roles: BENCHMARK_HOSTS,
      deadlineMs: RUN_MS,
      input: inputShape,
      output: summaryShape,
      plan: async (input, { signal }) => {
        const prepared = await prepare(bench, input, signal);
        return "code" in prepared ? prepared : {
          kind: "ok",
          value: { ...planOf(prepared, input), input: JSON.parse(JSON.stringify(input)) },
        };
      },
      run: async ({ input }, { run, signal, step }) => {
        // Looked at again: between the plan and the run the model may have gone.
        const prepared = await prepare(bench, input as Input, signal);
        if ("code" in prepared) return prepared;
        const about = { run: run ?? "", deadlineMs: (input as Input).deadline_seconds * 1000 };
        const end = await bench.run(
          prepared,
          about,
          (state) => step(progressText(state), "applied"),
          signal,
        );
        return end.kind === "refused" ? end : ended(end);
      },
    }),
    defineRead({
      name: "benchmarks.status",
      brief: "Benchmarks of this host, newest first: how far they are, or how they ended",
      effect: "read",
      roles: BENCHMARK_HOSTS,
      deadlineMs: LOOK_MS,
      control: true,
      input: z.strictObject({
        id: benchmarkId.optional().describe("This one alone."),
        most: z.int().min(1).max(64).default(5),
      }),
      output: z.strictObject({
        live: benchmarkId.nullable(),
        benchmarks: z.array(standingShape),
      }),
      run: async ({ id, most }) => {
        const benchmarks = await benchmarksOf(store, bench, id ?? null, most);
        return "code" in benchmarks
          ? benchmarks
          : { kind: "ok", value: { live: bench.live?.id ?? null, benchmarks: [...benchmarks] } };
      },
    }),
    defineMutation({
      name: "benchmarks.cancel",
      brief: "End the benchmark that runs; what was asked so far is kept and can be gone on with",
      effect: "mutate",
      destructive: false,
      roles: BENCHMARK_HOSTS,
      deadlineMs: LOOK_MS,
      control: true,
      input: z.strictObject({ id: benchmarkId.optional().describe("This one, or none.") }),
      output: z.strictObject({
        id: benchmarkId,
        over: z.boolean().describe("False: it was told, and what is under way is being cut off."),
      }),
      plan: ({ id }) => {
        const live = bench.live?.id;
        const found = live !== undefined && (id === undefined || id === live);
        return Promise.resolve(
          found
            ? { kind: "ok" as const, value: { id: live } }
            : refuse("benchmark_not_running", "no such benchmark is worked on now"),
        );
      },
      run: async ({ id }, { step }) => {
        step("asking", "unknown");
        const cancelled = await bench.cancel(id);
        if (cancelled.kind === "refused") return cancelled;
        step("asked", "applied");
        return { kind: "ok", value: { id: cancelled.id, over: cancelled.over } };
      },
    }),
    defineRead({
      name: "benchmarks.result",
      brief: "The evidence of a benchmark, and its records piece by piece",
      effect: "read",
      roles: BENCHMARK_HOSTS,
      deadlineMs: LOOK_MS,
      input: resultInputShape,
      output: handoverShape,
      run: async (input) => {
        const handover = await handoverOf(store, bench, input.id, input.records_from);
        return "code" in handover ? handover : { kind: "ok", value: handover };
      },
    }),
    defineRead({
      name: "evidence.list",
      brief: "Documents of evidence that this host keeps, newest first",
      effect: "read",
      roles: BENCHMARK_HOSTS,
      deadlineMs: LOOK_MS,
      input: z.strictObject({ most: z.int().min(1).max(64).default(16) }),
      output: z.strictObject({ evidence: z.array(standingShape) }),
      run: async ({ most }) => {
        const all = await benchmarksOf(store, bench, null, most);
        if ("code" in all) return all;
        return { kind: "ok", value: { evidence: all.filter((one) => one.evidence !== null) } };
      },
    }),
    defineRead({
      name: "evidence.get",
      brief: "One document of evidence by its name, and its records piece by piece",
      effect: "read",
      roles: BENCHMARK_HOSTS,
      deadlineMs: LOOK_MS,
      input: resultInputShape.extend({
        id: z.string().regex(EVIDENCE_ID_PATTERN, "expected ev- and 64 lower-case hex digits"),
      }),
      output: handoverShape,
      run: async ({ id, records_from }) => {
        const handover = await handoverNamed(store, bench, id, records_from);
        return "code" in handover ? handover : { kind: "ok", value: handover };
      },
    }),
  ];
}

async function prepare(
  bench: Bench,
  input: Input,
  signal: AbortSignal,
): Promise<Prepared | Refusal> {
  const { target, corpus, corpus_digest, resume, deadline_seconds: _seconds, ...rest } = input;
  if (resume !== undefined) {
    const alone = [target, corpus, corpus_digest, ...Object.values(rest)]
      .every((value) => value === undefined);
    return alone ? await bench.prepareResume(resume, signal) : refuse(
      "benchmark_resume_alone",
      "what is gone on with has its target and its workload already",
      "leave them out beside `resume`",
    );
  }
  if (target === undefined || corpus === undefined) {
    return refuse("benchmark_incomplete", "expected `target` and `corpus`, or `resume`");
  }
  return await bench.prepare({
    target,
    corpus,
    corpusDigest: corpus_digest ?? null,
    repeats: rest.repeats ?? 1,
    concurrency: rest.concurrency ?? 1,
    topLogprobs: rest.top_logprobs ?? 5,
    requestSeconds: rest.request_seconds ?? 120,
  }, signal);
}

function planOf(
  { benchmark, corpus, resumed }: Prepared,
  { deadline_seconds }: Input,
): z.infer<typeof planShape> {
  const id = resumed?.benchmark.id ?? null;
  const requests = requestsOf({ ...benchmark, id: "" });
  return {
    benchmark: id,
    subject: benchmark.subject,
    through: benchmark.through,
    corpus: { name: corpus.name, digest: corpus.digest },
    requests,
    left: resumed === null ? requests : leftOf(resumed),
    concurrency: benchmark.workload.concurrency,
    max_tokens: benchmark.workload.sampling.max_tokens,
    deadline_seconds,
    availability: benchmark.host.availability,
  };
}

/** What each ending is told as; complete is none of them. */
const FAILURES = {
  cancelled: ["benchmark_cancelled", "it was cancelled"],
  deadline: ["benchmark_deadline", "its time was over"],
  stopped: ["benchmark_stopped", "the agent is stopping"],
  target_lost: ["benchmark_target_lost", "what it measures went away, or became something else"],
  conditions_changed: ["benchmark_conditions_changed", "its host is being changed"],
} as const;

function ended(end: SessionEnd): Ran<z.infer<typeof summaryShape>> {
  const { state } = end;
  const { id } = state.benchmark;
  const next = state.ending === "conditions_changed"
    ? `it gave way to ${state.endedBy}; what was measured is no evidence: run it anew`
    : `go on with \`resume\`: "${id}"`;
  const went = `${progressText(state)}; ${next}`;
  if (end.kind === "not_kept") {
    const { code, detail } = end.why;
    return { kind: "failed", code, detail: `${detail}; ${went}`, effect: "applied" };
  }
  if (end.how !== "complete") {
    const [code, why] = FAILURES[end.how];
    return { kind: "failed", code, detail: `${why}; ${went}`, effect: "applied" };
  }
  return { kind: "ok", value: summaryOf(state) };
}
