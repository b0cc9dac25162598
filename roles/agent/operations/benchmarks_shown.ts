/**
 * How benchmarks are told: how far one is, what came of it, and the handing over of its evidence.
 *
 * @module
 */

import { z } from "zod";
import { type Refusal, refuse } from "../../../lib/core/refusal.ts";
import { digestOf, evidenceId, readEvidence } from "../../../lib/evidence/evidence.ts";
import {
  conditionsShape,
  distributionShape,
  hostShape,
  measuresShape,
  throughShape,
} from "../../../lib/evidence/evidence_shape.ts";
import { worstOf } from "../../../lib/benchmark/conditions.ts";
import { type Handover, pieceOf } from "../../../lib/evidence/handover.ts";
import { gapsOf, measuresOf, outcomesOf } from "../../../lib/benchmark/conclude.ts";
import { type BenchmarkState, leftOf, requestsOf } from "../../../lib/benchmark/run_state.ts";
import { type Bench, unknownBenchmark } from "../benchmarks/bench.ts";
import type { BenchmarkStore } from "../benchmarks/store.ts";

/** The id of a benchmark. */
export const benchmarkId = z.string().regex(/^bench-\d{6}$/, "expected bench- and six digits");

/** What a benchmark can be. */
export const STANDINGS = [
  "running",
  "complete",
  "cancelled",
  "deadline",
  "stopped",
  "target_lost",
  "conditions_changed",
  "interrupted", // the agent died in the middle
  "not_concluded", // all was asked, and its evidence is not on the disk
] as const;

/** How a benchmark came out. */
export const summaryShape = z.strictObject({
  id: benchmarkId,
  evidence: z.string().nullable(),
  resumed: z.int(),
  requests: measuresShape.shape.requests,
  errors: measuresShape.shape.errors,
  ttft_ms: distributionShape.nullable(),
  tokens_per_second: distributionShape.nullable(),
  /** Pauses between two pieces of an answer: the median of each, and the longest of each. */
  gap_ms: z.strictObject({
    p50: distributionShape.nullable(),
    max: distributionShape.nullable(),
  }),
  throughput: z.number().nullable(),
  /** No figure without them. */
  availability: hostShape.shape.availability,
  conditions: conditionsShape.nullable(),
});

/** A benchmark as it stands. */
export const standingShape = summaryShape.extend({
  state: z.enum(STANDINGS),
  /** What it gave way to; null when to nothing. */
  ended_by: z.string().nullable(),
  through: throughShape,
  model: z.string(),
  corpus: z.string(),
  all: z.int(),
  left: z.int(),
  started_at: z.string(),
  ended_at: z.string(),
  /** Runs of the agent that worked on it, oldest first. */
  runs: z.array(z.string()),
});

type Standing = z.infer<typeof standingShape>;

/** What came of it so far. */
export function summaryOf(state: BenchmarkState): z.infer<typeof summaryShape> {
  const ends = outcomesOf(state);
  const { requests, errors, ttft_ms, tokens_per_second, throughput } = measuresOf(
    ends,
    state.tookMs,
  );
  return {
    id: state.benchmark.id,
    evidence: state.evidence === null ? null : evidenceId(state.evidence),
    resumed: Math.max(0, state.sessions - 1),
    ...{ requests, errors, ttft_ms, tokens_per_second, throughput },
    gap_ms: gapsOf(ends),
    availability: state.benchmark.host.availability,
    conditions: worstOf(state.looks),
  };
}

/** What `state` is while nobody, or somebody, works on it: derived, never written down. */
export function standingOf(state: BenchmarkState, live: boolean): (typeof STANDINGS)[number] {
  if (live) return "running";
  if (state.ending === null) return "interrupted";
  if (state.ending !== "complete") return state.ending;
  return state.evidence === null ? "not_concluded" : "complete";
}

function viewOf(state: BenchmarkState, live: boolean): Standing {
  const { benchmark } = state;
  return {
    ...summaryOf(state),
    state: standingOf(state, live),
    ended_by: state.endedBy,
    through: benchmark.through,
    model: benchmark.subject.model,
    corpus: benchmark.workload.corpus.name,
    all: requestsOf(benchmark),
    left: leftOf(state),
    started_at: state.startedAt,
    ended_at: state.endedAt,
    runs: [...state.runs],
  };
}

/** The newest first, or the one called `id`. */
export async function benchmarksOf(
  store: BenchmarkStore,
  bench: Bench,
  id: string | null,
  most: number,
): Promise<readonly Standing[] | Refusal> {
  const ids = id === null ? await store.ids() : [id];
  if ("kind" in ids) return ids;
  const views: Standing[] = [];
  for (const one of ids.toReversed().slice(0, most)) {
    const live = bench.live;
    if (live?.id === one) {
      views.push(viewOf(live.state, true));
      continue;
    }
    const state = await store.state(one);
    if (state === null) {
      if (id !== null) return unknownBenchmark();
    } else if ("code" in state) return state;
    else views.push(viewOf(state, false));
  }
  return views;
}

/** The document of `id`, and a piece of its records. What is on the disk is checked before it leaves. */
export async function handoverOf(
  store: BenchmarkStore,
  bench: Bench,
  id: string,
  from: number | null,
): Promise<Handover | Refusal> {
  if (!benchmarkId.safeParse(id).success) return unknownBenchmark();
  const live = bench.live;
  const state = live?.id === id ? live.state : await store.state(id);
  if (state === null) return unknownBenchmark();
  if ("code" in state) return state;
  const standing = standingOf(state, live?.id === id);
  const none = { id, state: standing, evidence: null, records: null };
  if (state.evidence === null) return none;
  const bytes = await store.evidence(id);
  if (bytes !== null && "kind" in bytes) return bytes;
  const read = bytes === null ? null : await readEvidence(bytes, state.evidence);
  if (bytes === null || read === null || read.kind === "invalid") return damaged(id);
  const evidence = { id: read.model.id, text: new TextDecoder().decode(bytes) };
  const named = read.model.body.records;
  if (from === null || named === null) return { ...none, evidence };
  const records = await store.records(id);
  if (records !== null && "kind" in records) return records;
  if (records === null || await digestOf(records) !== named.digest) return damaged(id);
  if (from > records.length) {
    return refuse("records_end", `the records have ${records.length} bytes`, "begin at 0");
  }
  return { ...none, evidence, records: pieceOf(records, named.digest, from) };
}

/** The same, by the name of the document. Documents are small; journals are not looked into. */
export async function handoverNamed(
  store: BenchmarkStore,
  bench: Bench,
  name: string,
  from: number | null,
): Promise<Handover | Refusal> {
  const ids = await store.ids();
  if ("kind" in ids) return ids;
  for (const id of ids.toReversed()) {
    const bytes = await store.evidence(id);
    if (bytes === null || "kind" in bytes) continue;
    if (evidenceId(await digestOf(bytes)) === name) {
      return await handoverOf(store, bench, id, from);
    }
  }
  return refuse("evidence_unknown", "this host keeps no such document", "see `evidence.list`");
}

function damaged(id: string): Refusal {
  return refuse(
    "benchmark_damaged",
    `the evidence of ${id} is gone, or is not what its journal names`,
    "measure anew; nothing of it can be believed",
  );
}
