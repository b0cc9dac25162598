/**
 * Two measurements beside each other: only when the same was asked in the same way. What differs in
 * the work makes them incomparable; what differs in subject and host is what one wants to compare.
 *
 * @module
 */

import type { Json } from "../core/canonical_json.ts";
import { pathOf } from "../core/problem.ts";
import type { Named } from "./evidence.ts";
import type { Distribution, Evidence } from "./evidence_shape.ts";

/** One place in which two documents say different things. */
export interface Difference {
  readonly path: string;
  readonly left: Json;
  readonly right: Json;
}

/** One figure of both. */
export interface Figure {
  /** As `ttft_ms.p50`. */
  readonly measure: string;
  readonly left: number | null;
  readonly right: number | null;
  /** right / left; null where either is not there, or left is 0. */
  readonly ratio: number | null;
}

/** What comparing gave. */
export type Comparison =
  | {
    readonly kind: "compared";
    /** What differs besides the figures: subject, way, host, conditions. */
    readonly differences: readonly Difference[];
    readonly figures: readonly Figure[];
  }
  | {
    readonly kind: "not_comparable";
    /** What differs in the work, or in how whole it is. */
    readonly reasons: readonly Difference[];
    readonly differences: readonly Difference[];
  };

/** Every place in which two values differ; lists are one value. */
export function differencesOf(left: Json, right: Json, at: readonly string[] = []): Difference[] {
  if (isTable(left) && isTable(right)) {
    const keys = [...new Set([...Object.keys(left), ...Object.keys(right)])].toSorted();
    return keys.flatMap((key) =>
      differencesOf(left[key] ?? null, right[key] ?? null, [...at, key])
    );
  }
  return JSON.stringify(left) === JSON.stringify(right) ? [] : [{ path: pathOf(at), left, right }];
}

/** What keeps figures of `left` and `right` from standing in one line; none: nothing does. */
export function unlike(left: Evidence, right: Evidence): Difference[] {
  return [
    ...differencesOf(left.workload, right.workload, ["workload"]),
    ...differencesOf(
      left.measures.tokens.counted_by,
      right.measures.tokens.counted_by,
      ["measures", "tokens", "counted_by"],
    ),
    // Half a run is another workload, even beside another half.
    ...(left.run.complete && right.run.complete
      ? []
      : [{ path: "run.complete", left: left.run.complete, right: right.run.complete }]),
  ];
}

/** Compares two documents. */
export function compare(
  { body: left }: Named<Evidence>,
  { body: right }: Named<Evidence>,
): Comparison {
  const reasons = unlike(left, right);
  const differences = (["subject", "through", "host", "conditions", "tool"] as const).flatMap(
    (key) => differencesOf(left[key], right[key], [key]),
  );
  return reasons.length > 0
    ? { kind: "not_comparable", reasons, differences }
    : { kind: "compared", differences, figures: figuresOf(left, right) };
}

const QUANTILES = ["p50", "p90", "p99", "max"] as const;

function figuresOf(left: Evidence, right: Evidence): Figure[] {
  const quantiles = (["ttft_ms", "total_ms", "tokens_per_second"] as const).flatMap((key) =>
    QUANTILES.map((quantile) =>
      figure(
        `${key}.${quantile}`,
        valueOf(left.measures[key], quantile),
        valueOf(right.measures[key], quantile),
      )
    )
  );
  return [
    ...quantiles,
    figure("throughput", left.measures.throughput, right.measures.throughput),
    figure("requests.sent", left.measures.requests.sent, right.measures.requests.sent),
    figure("requests.failed", left.measures.requests.failed, right.measures.requests.failed),
  ];
}

function valueOf(values: Distribution | null, quantile: keyof Distribution): number | null {
  return values === null ? null : values[quantile];
}

function figure(measure: string, left: number | null, right: number | null): Figure {
  const ratio = left === null || right === null || left === 0 ? null : right / left;
  return { measure, left, right, ratio };
}

function isTable(value: Json): value is { readonly [key: string]: Json } {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
