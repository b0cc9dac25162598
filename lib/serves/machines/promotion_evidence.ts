/**
 * What a promotion names: a measurement of exactly the model that is to answer, on exactly this host,
 * made while the host could back a promise. Evidence never promotes; without it nothing is promoted.
 *
 * @module
 */

import { type Refusal, refuse } from "../../core/refusal.ts";
import type { Named } from "../../evidence/evidence.ts";
import type { Evidence } from "../../evidence/evidence_shape.ts";
import { INELIGIBLE, ineligible } from "../../topology/eligibility.ts";
import type { Serve } from "../manifest_shape.ts";

/** A document that was read, or why it could not be. */
export type NamedEvidence = Pick<Named<Evidence>, "id" | "body"> | Refusal;

/** Why `evidence` says nothing for these serves of `node`; null when it does. */
export function refuseEvidence(
  { body }: Pick<Named<Evidence>, "body">,
  node: string,
  serves: readonly Pick<Serve, "name" | "capability" | "model" | "engine" | "runtime">[],
): Refusal | null {
  const { host, run, measures } = body;
  if (host.node !== node) {
    return refuse(
      "evidence_other_host",
      `it was measured on ${host.node}, and this is ${node}`,
      MEASURE_HERE,
    );
  }
  const axes = {
    availability: host.availability,
    ...(host.runtime === null ? {} : { runtime: host.runtime }),
    ...(host.reserved === null ? {} : { reserved: host.reserved }),
  };
  const reasons = new Set(serves.flatMap(({ capability }) => ineligible(axes, capability)));
  if (reasons.size > 0) {
    return refuse(
      "evidence_ineligible",
      `when it was measured: ${[...reasons].map((one) => INELIGIBLE[one]).join("; ")}`,
      MEASURE_HERE,
    );
  }
  for (const serve of serves) {
    const differs = differencesTo(serve, body);
    if (differs.length === 0) continue;
    return refuse(
      "evidence_other_model",
      `it was not measured on what ${serve.name} serves: ${differs.join("; ")}`,
      MEASURE_HERE,
    );
  }
  if (!run.complete) {
    return refuse("evidence_incomplete", "that benchmark did not come to its end", MEASURE_HERE);
  }
  return measures.requests.completed > 0 ? null : refuse(
    "evidence_empty",
    "not one of its answers came whole",
    "see whether the model is well; measure again",
  );
}

const MEASURE_HERE = "measure what is to be promoted, on this host: `benchmarks.run`";

function differencesTo(
  { model, engine, runtime }: Pick<Serve, "model" | "engine" | "runtime">,
  { subject, host }: Evidence,
): string[] {
  const pairs:
    readonly (readonly [name: string, observed: string | null, expected: string | null])[] = [
      ["model", subject.model, model.id],
      ["revision", subject.revision, model.revision],
      ["quantization", subject.quantization, model.quantization ?? null],
      ["engine", subject.engine, engine],
      ["runtime", host.runtime, runtime],
    ];
  const word = (value: string | null) => value ?? "none";
  return pairs.filter(([, observed, expected]) => observed !== expected)
    .map(([name, observed, expected]) => `${name} ${word(observed)}, expected ${word(expected)}`);
}

/** Whole days since it was measured; below 0 when this host's clock says that is to come. */
export function evidenceAgeDays(
  { body: { run } }: Pick<Named<Evidence>, "body">,
  nowMs: number,
): number {
  return Math.floor((nowMs - Date.parse(run.ended_at)) / 86_400_000);
}

/** What a person who looks at the plan should know of it. */
export function evidenceNotes(
  { id, body }: Pick<Named<Evidence>, "id" | "body">,
): readonly string[] {
  const { measures: { requests, ttft_ms, tokens_per_second }, run, workload, conditions } = body;
  const figures = [
    ...(ttft_ms === null ? [] : [`first token ${Math.round(ttft_ms.p50)} ms`]),
    ...(tokens_per_second === null ? [] : [`${Math.round(tokens_per_second.p50)} tokens/s`]),
  ];
  return [
    `by ${id}: measured ${run.started_at}, ${workload.corpus.name}, ` +
    `${requests.completed} of ${requests.sent} answers whole` +
    (figures.length === 0 ? "" : `, p50 ${figures.join(", ")}`),
    ...(conditions?.thermal.state === "throttled"
      ? ["the host throttled while it was measured"]
      : []),
  ];
}
