/**
 * `evidence/v1`: one measurement of one served model on one host, with everything that has to be equal
 * before its figures may stand beside other figures.
 *
 * Null means: not known, and said so. Nothing here routes and nothing here promotes.
 *
 * @module
 */

import { z } from "zod";
import { momentShape } from "../adoption/keys.ts";
import { ID_PATTERN } from "../core/ids.ts";
import {
  ARCHES,
  AVAILABILITIES,
  CAPABILITY_PATTERN,
  OSES,
  RUNTIMES,
} from "../topology/vocabulary.ts";

/** What the first key of a document says. */
export const EVIDENCE_SCHEMA = "evidence/v1";

/** No document is larger, in bytes. The outputs themselves are in the records beside it. */
export const MOST_EVIDENCE_BYTES = 64 * 1024;

/** A SHA-256 in lower-case hex. */
export const DIGEST_PATTERN = /^[0-9a-f]{64}$/;

/** Visible text: markup is fine, it is escaped wherever it is shown; control characters are not. */
export const textShape = (most: number) =>
  z.string().regex(
    new RegExp(`^[^\\p{C}]{1,${most}}$`, "u"),
    `expected 1 to ${most} visible characters`,
  );

export const digestShape = z.string().regex(DIGEST_PATTERN, "expected 64 lower-case hex digits");
const imageShape = z.string().regex(
  /^sha256:[0-9a-f]{64}$/,
  "expected sha256: and 64 lower-case hex digits",
);
const count = z.int().min(0).max(Number.MAX_SAFE_INTEGER);
const measure = z.number().min(0).max(1e12);
const percent = z.number().min(0).max(100);

/** Which model, made to answer by which engine. */
export const subjectShape = z.strictObject({
  model: textShape(256).describe("As its publisher names it."),
  revision: textShape(128).nullable().describe("Exactly which one; null: nobody said."),
  quantization: textShape(64).nullable().describe("Null: none declared."),
  served_model: textShape(256).describe("What the engine calls it."),
  engine: textShape(64).describe("As vllm, mlx-lm, llama-server."),
  engine_version: textShape(128).nullable().describe("As the engine states it."),
  image_digest: imageShape.nullable().describe("Of the container image; null for a native serve."),
  config_digest: digestShape.nullable().describe(
    "Of how it was started: argv, run spec, manifest.",
  ),
});

/** How the engine was reached. */
export const throughShape = z.discriminatedUnion("kind", [
  z.strictObject({
    kind: z.literal("router"),
    alias: textShape(256),
    tier: z.string().regex(ID_PATTERN).nullable(),
    router_config: digestShape.nullable().describe("Digest of the running router.toml."),
  }),
  z.strictObject({
    kind: z.literal("member"),
    serve: textShape(64),
    tier: z.string().regex(ID_PATTERN).nullable(),
  }),
]);

/** The host and its axes, as the topology declared them then. */
export const hostShape = z.strictObject({
  node: z.string().regex(ID_PATTERN),
  os: z.enum(OSES),
  arch: z.enum(ARCHES),
  runtime: z.enum(RUNTIMES).nullable(),
  memory: z.enum(["discrete", "unified"]).nullable(),
  availability: z.enum(AVAILABILITIES),
  reserved: z.string().regex(CAPABILITY_PATTERN).nullable(),
  devices: z.array(z.strictObject({
    name: textShape(128),
    memory_mib: count.nullable(),
  })).max(64).describe("Kinds of device, never their identities."),
});

/** What the machine went through while it was measured: the worst that was seen. */
export const conditionsShape = z.strictObject({
  samples: z.int().min(1).max(1_000_000).describe("How often it was looked at."),
  power: z.strictObject({
    source: z.enum(["mains", "battery", "mixed", "unknown"]),
    battery_percent_min: percent.nullable(),
  }),
  thermal: z.strictObject({
    state: z.enum(["nominal", "throttled", "unknown"]),
    celsius_max: z.number().min(-50).max(200).nullable().describe("Of the hottest device seen."),
  }),
  pressure: z.strictObject({
    cpu_max: percent.nullable().describe("Percent of ten seconds in which something waited."),
    memory_max: percent.nullable(),
    io_max: percent.nullable(),
  }),
});

/** How tokens were drawn; null where the engine's default was left. */
export const samplingShape = z.strictObject({
  temperature: z.number().min(0).max(100).nullable(),
  top_p: z.number().min(0).max(1).nullable(),
  top_k: z.int().min(0).max(1_000_000).nullable(),
  seed: z.int().min(Number.MIN_SAFE_INTEGER).max(Number.MAX_SAFE_INTEGER).nullable(),
  max_tokens: z.int().min(1).max(10_000_000),
});

/** What was asked, how often and how many at a time. */
export const workloadShape = z.strictObject({
  corpus: z.strictObject({
    name: textShape(128),
    digest: digestShape,
    prompts: z.int().min(1).max(1_000_000),
  }),
  sampling: samplingShape,
  repeats: z.int().min(1).max(1_000_000).describe("Times each prompt was asked."),
  warmup: count.describe("Requests before, which are not counted."),
  concurrency: z.int().min(1).max(100_000).describe("Requests in flight at a time."),
  stream: z.boolean(),
});

/** Values of one kind: how many there were, and where they lie. */
export const distributionShape = z.strictObject({
  count: z.int().min(1).max(Number.MAX_SAFE_INTEGER),
  min: measure,
  mean: measure,
  p50: measure,
  p90: measure,
  p99: measure,
  max: measure,
});

/** What was measured. */
export const measuresShape = z.strictObject({
  requests: z.strictObject({
    sent: count,
    completed: count,
    failed: count,
    cancelled: count.describe("Begun and not waited for to the end."),
  }),
  tokens: z.strictObject({
    prompt: count.nullable(),
    completion: count.nullable(),
    counted_by: z.enum(["engine", "chunks", "none"]).describe(
      "The engine's own usage, or streamed chunks, which may hold more than one token.",
    ),
  }),
  ttft_ms: distributionShape.nullable().describe(
    "From the request's last byte to its first token.",
  ),
  total_ms: distributionShape.nullable().describe("From the request's last byte to its answer's."),
  tokens_per_second: distributionShape.nullable().describe(
    "Of each answer, after its first token.",
  ),
  throughput: measure.nullable().describe("Tokens per second of all answers together."),
  errors: z.array(z.strictObject({ code: textShape(64), count: z.int().min(1) })).max(64),
});

/** The whole document. */
export const evidenceShape = z.strictObject({
  schema: z.literal(EVIDENCE_SCHEMA),
  run: z.strictObject({
    id: textShape(128).describe("Which run of the benchmark."),
    started_at: momentShape,
    ended_at: momentShape,
    complete: z.boolean().describe("False: it was cancelled, or gave up."),
    resumed: count.describe("Times it went on after an interruption."),
  }),
  subject: subjectShape,
  through: throughShape,
  host: hostShape,
  conditions: conditionsShape.nullable().describe("Null: nobody looked."),
  workload: workloadShape,
  measures: measuresShape,
  records: z.strictObject({
    digest: digestShape.describe("Of the whole file of records."),
    bytes: count,
    count: z.int().min(1).max(1_000_000),
  }).nullable().describe("The answers themselves, which parity needs; null: not kept."),
  tool: z.strictObject({
    name: textShape(64),
    version: textShape(64),
    build_digest: digestShape.nullable().describe("Null: it ran from source."),
  }),
});

/** One measurement. */
export type Evidence = z.infer<typeof evidenceShape>;
/** Values of one kind. */
export type Distribution = z.infer<typeof distributionShape>;
/** What a machine went through. */
export type Conditions = z.infer<typeof conditionsShape>;
