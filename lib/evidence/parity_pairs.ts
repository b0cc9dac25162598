/**
 * The answers of two sides, prompt by prompt, and what they come to together.
 *
 * @module
 */

import { distanceOf, type Divergence, divergenceOf } from "./divergence.ts";
import type { Pair, Parity, Thresholds } from "./parity_shape.ts";
import type { AnswerRecord } from "./record.ts";
import { refuses } from "./refusal_text.ts";
import { similarity } from "./similarity.ts";

/** One pair for every prompt that either side was asked, in the order of the left one. */
export function pairsOf(
  left: readonly AnswerRecord[],
  right: readonly AnswerRecord[],
): readonly Pair[] {
  const key = (one: AnswerRecord) => `${one.repeat} ${one.prompt}`;
  const others = new Map(right.map((one) => [key(one), one]));
  const pairs = left.map((one) => pairOf(one, others.get(key(one)) ?? null));
  const known = new Set(left.map(key));
  const onlyRight = right.filter((one) => !known.has(key(one))).map((one) => pairOf(null, one));
  return [...pairs, ...onlyRight];
}

function pairOf(left: AnswerRecord | null, right: AnswerRecord | null): Pair {
  const named = left ?? right;
  const head = { prompt: named?.prompt ?? "?", repeat: named?.repeat ?? 0 };
  const nothing = {
    exact: null,
    divergence: null,
    similarity: null,
    logprobs: null,
    refusals: null,
  };
  if (left === null || right === null) {
    return { ...head, skipped: left === null ? "only_right" : "only_left", ...nothing };
  }
  const failed = (left.error === null ? 0 : 1) + (right.error === null ? 0 : 2);
  if (failed > 0) {
    const skipped = failed === 3 ? "failed_both" : failed === 1 ? "failed_left" : "failed_right";
    return { ...head, skipped, ...nothing };
  }
  return {
    ...head,
    skipped: null,
    exact: left.output === right.output,
    divergence: divergenceOf(left, right),
    similarity: similarity(left.output, right.output),
    logprobs: distanceOf(left, right),
    refusals: { left: refuses(left), right: refuses(right) },
  };
}

/** What all pairs come to. */
export function summaryOf(
  pairs: readonly Pair[],
  { decisive_nats }: Pick<Thresholds, "decisive_nats">,
): NonNullable<Parity["summary"]> {
  const compared = pairs.filter(({ skipped }) => skipped === null);
  const alike = compared.flatMap((one) => one.similarity ?? []);
  const far = compared.flatMap((one) => one.logprobs ?? []);
  const positions = far.reduce((sum, one) => sum + one.positions, 0);
  const refused = (side: "left" | "right") =>
    compared.filter(({ refusals }) => refusals !== null && refusals[side] !== "no").length;
  const differ = compared.filter(({ refusals }) =>
    refusals !== null && (refusals.left === "no") !== (refusals.right === "no")
  );
  return {
    asked: pairs.length,
    compared: compared.length,
    exact: compared.filter(({ exact }) => exact).length,
    diverged: compared.filter(({ divergence }) => divergence !== null).length,
    decisive: compared.filter(({ divergence }) => (divergence?.nats ?? 0) > decisive_nats).length,
    refusals: { left: refused("left"), right: refused("right"), differ: differ.length },
    similarity: alike.length === 0 ? null : {
      mean: Math.min(1, alike.reduce((sum, one) => sum + one, 0) / alike.length),
      min: alike.reduce((least, one) => Math.min(least, one), 1),
    },
    logprobs: far.length === 0 ? null : {
      answers: far.length,
      positions,
      mean: far.reduce((sum, one) => sum + one.mean * one.positions, 0) / positions,
      max: far.reduce((most, one) => Math.max(most, one.max), 0),
    },
    first_divergence: firstOf(compared),
  };
}

/** The earliest divergence of all; of equally early ones the first prompt's. */
function firstOf(pairs: readonly Pair[]): NonNullable<Parity["summary"]>["first_divergence"] {
  let first: (Divergence & { readonly prompt: string; readonly repeat: number }) | null = null;
  for (const one of pairs) {
    if (one.divergence === null || (first !== null && !before(one.divergence, first))) continue;
    first = { ...one.divergence, prompt: one.prompt, repeat: one.repeat };
  }
  return first;
}

function before(one: Divergence, other: Divergence): boolean {
  if (one.unit !== other.unit) return one.unit === "token";
  return one.index < other.index;
}
