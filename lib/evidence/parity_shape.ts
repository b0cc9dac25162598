/**
 * `parity/v1`: the same model, the same quantization, the same questions, two engines. Made of two
 * documents and their records alone: made again, it is the same bytes and has the same name.
 *
 * @module
 */

import { z } from "zod";
import { EVIDENCE_ID_PATTERN } from "./evidence.ts";
import {
  conditionsShape,
  digestShape,
  hostShape,
  subjectShape,
  textShape,
  workloadShape,
} from "./evidence_shape.ts";

/** What the first key of a document says. */
export const PARITY_SCHEMA = "parity/v1";
/** No document is larger, in bytes. */
export const MOST_PARITY_BYTES = 64 * 1024 * 1024;

const share = z.number().min(0).max(1);
const nats = z.number().min(-1e10).max(1e10);
const index = z.int().min(0).max(Number.MAX_SAFE_INTEGER);
const refusesShape = z.enum(["stated", "phrased", "no"]);

/** What decides the verdict. */
export const thresholdsShape = z.strictObject({
  compared_share_min: share.describe("Answers that both gave, of all that either was asked for."),
  exact_share_min: share.describe("Answers that are equal, of those compared."),
  similarity_min: share.describe("Mean likeness of the texts."),
  logprob_mean_max: nats.describe("Mean distance of logprobs, in nats; only where offered."),
  decisive_nats: nats.describe(
    "A divergence at which the engines disagree by more is no rounding.",
  ),
  decisive_share_max: share.describe("Such divergences, of the answers compared."),
  refusals_share_max: share.describe("Answers that one refuses and the other does not."),
});

/** What decides the verdict. */
export type Thresholds = z.infer<typeof thresholdsShape>;

/** Those of a comparison for which nobody asks for others. */
export const DEFAULT_THRESHOLDS: Thresholds = {
  compared_share_min: 0.9,
  exact_share_min: 0.95,
  similarity_min: 0.9,
  logprob_mean_max: 0.25,
  decisive_nats: 2,
  decisive_share_max: 0,
  refusals_share_max: 0.02,
};

/** Why the verdict is what it is. */
export const PARITY_REASONS = [
  // not_comparable
  "model_differs",
  "workload_differs",
  "sampling_random",
  "records_missing",
  "run_incomplete",
  "too_few_compared",
  // diverge
  "exact_share_low",
  "similarity_low",
  "logprobs_far",
  "decisive_divergence",
  "refusals_differ",
] as const;

const differenceShape = z.strictObject({
  path: z.string().max(256),
  left: z.json(),
  right: z.json(),
});

const sideShape = z.strictObject({
  evidence: z.string().regex(EVIDENCE_ID_PATTERN),
  records: digestShape.nullable(),
  started_at: z.string().max(32),
  ended_at: z.string().max(32),
  subject: subjectShape,
  host: hostShape,
  conditions: conditionsShape.nullable(),
});

/** Where two answers part. */
export const divergenceShape = z.strictObject({
  unit: z.enum(["token", "code_point"]),
  index,
  left: z.string().max(520).nullable(),
  right: z.string().max(520).nullable(),
  nats: nats.nullable(),
});

/** One prompt, answered by both or not. */
export const pairShape = z.strictObject({
  prompt: textShape(128),
  repeat: index,
  skipped: z.enum(["only_left", "only_right", "failed_left", "failed_right", "failed_both"])
    .nullable(),
  exact: z.boolean().nullable(),
  divergence: divergenceShape.nullable(),
  similarity: share.nullable(),
  logprobs: z.strictObject({ positions: index, mean: nats, max: nats, max_at: index }).nullable(),
  refusals: z.strictObject({ left: refusesShape, right: refusesShape }).nullable(),
});

/** The whole document. */
export const parityShape = z.strictObject({
  schema: z.literal(PARITY_SCHEMA),
  left: sideShape,
  right: sideShape,
  identity: z.array(differenceShape).max(256).describe("What differs between the two sides."),
  same_model_because: textShape(256).nullable().describe(
    "Why a person holds two names for one model; null: the names are equal.",
  ),
  workload: workloadShape.nullable().describe("What both were asked; null when that differs."),
  thresholds: thresholdsShape,
  verdict: z.enum(["agree", "diverge", "not_comparable"]),
  reasons: z.array(z.strictObject({
    code: z.enum(PARITY_REASONS),
    detail: z.string().max(2048),
    differences: z.array(differenceShape).max(256),
  })).max(16),
  summary: z.strictObject({
    asked: index,
    compared: index,
    exact: index,
    diverged: index,
    decisive: index,
    refusals: z.strictObject({ left: index, right: index, differ: index }),
    similarity: z.strictObject({ mean: share, min: share }).nullable(),
    logprobs: z.strictObject({ answers: index, positions: index, mean: nats, max: nats })
      .nullable(),
    first_divergence: divergenceShape.extend({ prompt: textShape(128), repeat: index }).nullable()
      .describe("The earliest of all, tokens before text."),
  }).nullable().describe("Null: nothing was compared."),
  prompts: z.array(pairShape).max(40_000),
});

/** A comparison of two engines. */
export type Parity = z.infer<typeof parityShape>;
/** One prompt of it. */
export type Pair = z.infer<typeof pairShape>;
