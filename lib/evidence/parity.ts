/**
 * Parity: is it the model or the kernel? Two engines that were made by different people from one set of
 * weights agree, or one of them is wrong.
 *
 *     two documents ─> the same model? asked the same, without chance? whole? ─> not_comparable
 *          └─> pairs of answers ─> shares and distances ─> thresholds ─> agree | diverge
 *
 * @module
 */

import type { z } from "zod";
import { canonicalJson, type Json } from "../core/canonical_json.ts";
import type { Checked } from "../core/problem.ts";
import { checkShape } from "../document/shape.ts";
import { type Difference, differencesOf } from "./comparison.ts";
import { digestOf, type Named, readNamed, spelling } from "./evidence.ts";
import type { Evidence } from "./evidence_shape.ts";
import { pairsOf, summaryOf } from "./parity_pairs.ts";
import { MOST_PARITY_BYTES, type Parity, parityShape, type Thresholds } from "./parity_shape.ts";
import type { AnswerRecord } from "./record.ts";

/** One side: what was measured, and the answers; null when they were not kept or are not here. */
export interface Side {
  readonly evidence: Named<Evidence>;
  readonly records: readonly AnswerRecord[] | null;
}

/** Compares two sides. `because` says why two names are one model, where a person holds that. */
export function parityOf(
  left: Side,
  right: Side,
  thresholds: Thresholds,
  because: string | null = null,
): Parity {
  const [a, b] = [left.evidence.body, right.evidence.body];
  const unlike = workDifferences(a, b);
  const reasons = incomparable(left, right, because, unlike);
  const comparable = reasons.length === 0 && left.records !== null && right.records !== null;
  const prompts = comparable ? pairsOf(left.records ?? [], right.records ?? []) : [];
  const summary = comparable ? summaryOf(prompts, thresholds) : null;
  const judged = summary === null ? [] : judge(summary, thresholds);
  const few = judged.some(({ code }) => code === "too_few_compared");
  return {
    schema: "parity/v1",
    left: sideOf(left),
    right: sideOf(right),
    identity: [
      ...differencesOf(a.subject, b.subject, ["subject"]),
      ...differencesOf(a.host, b.host, ["host"]),
      ...differencesOf(a.through, b.through, ["through"]),
    ].map(writable),
    same_model_because: because,
    workload: unlike.length === 0 ? a.workload : null,
    thresholds,
    verdict: reasons.length > 0 || few ? "not_comparable" : judged.length > 0 ? "diverge" : "agree",
    reasons: [...reasons, ...judged].map(({ differences, ...one }) => ({
      ...one,
      differences: differences.map(writable),
    })),
    summary,
    prompts: [...prompts],
  };
}

/** The bytes of a document, and its digest. Throws for a body that {@link readParity} would refuse. */
export async function writeParity(
  body: Parity,
): Promise<{ readonly digest: string; readonly bytes: Uint8Array<ArrayBuffer> }> {
  const text = parityText(parityShape.parse(body));
  const bytes = new TextEncoder().encode(text);
  if (bytes.length > MOST_PARITY_BYTES) throw new TypeError("a parity nobody would read");
  return { digest: await digestOf(bytes), bytes };
}

/** Reads a document; `expected` is the digest it is filed under. */
export async function readParity(
  bytes: Uint8Array<ArrayBuffer>,
  expected?: string,
): Promise<Checked<{ readonly digest: string; readonly body: Parity }>> {
  const read = await readNamed(bytes, expected, MOST_PARITY_BYTES);
  if (read.kind === "invalid") return read;
  const shaped = checkShape(parityShape, read.model.body);
  if (shaped.kind === "invalid") return shaped;
  const problems = spelling(bytes, parityText(shaped.model));
  return problems.length > 0
    ? { kind: "invalid", problems }
    : { kind: "ok", model: { digest: read.model.digest, body: shaped.model } };
}

function parityText(body: Parity): string {
  return `${canonicalJson(body as Json)}\n`;
}

interface Reason {
  readonly code: Parity["reasons"][number]["code"];
  readonly detail: string;
  readonly differences: readonly Difference[];
}

/** What makes answers differ. How many at a time and how often to warm up do not. */
function workDifferences(left: Evidence, right: Evidence): readonly Difference[] {
  const work = ({ workload: { corpus, sampling, repeats } }: Evidence) => ({
    corpus,
    sampling,
    repeats,
  });
  return differencesOf(work(left), work(right), ["workload"]);
}

function incomparable(
  left: Side,
  right: Side,
  because: string | null,
  unlike: readonly Difference[],
): Reason[] {
  const [a, b] = [left.evidence.body, right.evidence.body];
  const reasons: Reason[] = [];
  const say = (
    code: Reason["code"],
    detail: string,
    differences: readonly Difference[] = [],
  ) => reasons.push({ code, detail, differences });
  const identity = ({ subject: { model, revision, quantization } }: Evidence) => ({
    model,
    revision,
    quantization,
  });
  const models = differencesOf(identity(a), identity(b), ["subject"]);
  if (because === null && models.length > 0) {
    say("model_differs", "not the same model by name, revision and quantization", models);
  } else if (because === null && a.subject.revision === null) {
    say("model_differs", "neither side says which revision it is: one name may mean two models");
  }
  if (unlike.length > 0) say("workload_differs", "they were not asked the same", unlike);
  const { temperature, top_k } = a.workload.sampling;
  if (temperature !== 0 && top_k !== 1) {
    say(
      "sampling_random",
      temperature === null
        ? "the engine's own temperature was left, so chance may have chosen"
        : `at temperature ${temperature} chance chooses`,
    );
  }
  if (!a.run.complete || !b.run.complete) say("run_incomplete", "a run did not come to its end");
  const without = [
    ...(left.records === null ? ["left"] : []),
    ...(right.records === null ? ["right"] : []),
  ];
  if (without.length > 0) {
    say("records_missing", `the answers of ${without.join(" and ")} are not here`);
  }
  return reasons;
}

function judge(summary: NonNullable<Parity["summary"]>, limits: Thresholds): Reason[] {
  const { asked, compared, exact, decisive, refusals, similarity, logprobs } = summary;
  const reasons: Reason[] = [];
  const say = (code: Reason["code"], detail: string) =>
    reasons.push({ code, detail, differences: [] });
  const of = (part: number, whole: number) => whole === 0 ? 0 : part / whole;
  if (compared === 0 || of(compared, asked) < limits.compared_share_min) {
    say("too_few_compared", `${compared} of ${asked} answers are there on both sides`);
  }
  if (compared === 0) return reasons;
  if (of(exact, compared) < limits.exact_share_min) {
    say("exact_share_low", `${exact} of ${compared} answers are equal`);
  }
  if (similarity !== null && similarity.mean < limits.similarity_min) {
    say("similarity_low", `mean likeness ${similarity.mean.toFixed(3)}`);
  }
  if (logprobs !== null && logprobs.mean > limits.logprob_mean_max) {
    say("logprobs_far", `mean distance ${logprobs.mean.toFixed(3)} nats`);
  }
  if (of(decisive, compared) > limits.decisive_share_max) {
    say(
      "decisive_divergence",
      `at ${decisive} of ${compared} answers they part where they are sure of different tokens`,
    );
  }
  if (of(refusals.differ, compared) > limits.refusals_share_max) {
    say("refusals_differ", `${refusals.differ} of ${compared} answers are refused by one only`);
  }
  return reasons;
}

function sideOf({ evidence: { id, body } }: Side): Parity["left"] {
  return {
    evidence: id,
    records: body.records?.digest ?? null,
    started_at: body.run.started_at,
    ended_at: body.run.ended_at,
    subject: body.subject,
    host: body.host,
    conditions: body.conditions,
  };
}

function writable({ path, left, right }: Difference): Parity["identity"][number] {
  return { path, left: left as z.core.util.JSONType, right: right as z.core.util.JSONType };
}
