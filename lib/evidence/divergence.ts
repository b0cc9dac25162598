/**
 * Where two answers to one prompt part, and how far the engines' own probabilities were apart until
 * there.
 *
 * @module
 */

import type { AnswerRecord } from "./record.ts";
import { shortened } from "./markup.ts";

/** Where two answers part. */
export interface Divergence {
  /** What `index` counts: tokens where both engines tell them, else code points of the text. */
  readonly unit: "token" | "code_point";
  /** The first that differs, from 0. */
  readonly index: number;
  /** What stands there; null: the answer was over. */
  readonly left: string | null;
  readonly right: string | null;
  /**
   * By how much each engine preferred its own token over the other's, both together, in nats. Near 0:
   * a tie that rounding decides. Null: not offered.
   */
  readonly nats: number | null;
}

/** How far two engines' probabilities were apart while they had the same text before them. */
export interface Distance {
  /** Tokens that were compared: up to the divergence, and it too. */
  readonly positions: number;
  /** Mean of the differences, in nats. */
  readonly mean: number;
  /** The largest mean of one position. */
  readonly max: number;
  /** Where that was. */
  readonly max_at: number;
}

/** Graphemes of a token or text that are shown. */
const MOST_SHOWN = 32;

/** Where `left` and `right` part; null when their texts are equal. */
export function divergenceOf(left: AnswerRecord, right: AnswerRecord): Divergence | null {
  if (left.output === right.output) return null;
  const [a, b] = [tokensOf(left), tokensOf(right)];
  if (a === null || b === null) {
    const index = firstDifference([...left.output], [...right.output]);
    const from = (text: string) => {
      const rest = [...text].slice(index);
      return rest.length === 0 ? null : shortened(rest.join(""), MOST_SHOWN);
    };
    const shown = { left: from(left.output), right: from(right.output) };
    return { unit: "code_point", index, ...shown, nats: null };
  }
  const index = firstDifference(a, b);
  return {
    unit: "token",
    index,
    left: shownToken(a[index]),
    right: shownToken(b[index]),
    nats: preference(left.top?.[index], right.top?.[index], a[index], b[index]),
  };
}

/**
 * How far apart: at each position the mean, over every token either engine names, of the difference of
 * its logprobs. What one engine does not name is taken for its least likely named one, so the
 * distance is never overstated. Null when not both offer logprobs, or nothing was compared.
 */
export function distanceOf(left: AnswerRecord, right: AnswerRecord): Distance | null {
  if (left.top === null || right.top === null) return null;
  const [a, b] = [left.tokens ?? [], right.tokens ?? []];
  const same = firstDifference(a, b);
  let [sum, positions, max, maxAt] = [0, 0, 0, 0];
  for (let at = 0; at <= same; at++) {
    const apart = apartAt(left.top[at], right.top[at]);
    if (apart === null) continue;
    sum += apart;
    positions++;
    if (apart > max) [max, maxAt] = [apart, at];
  }
  return positions === 0 ? null : { positions, mean: sum / positions, max, max_at: maxAt };
}

type Top = NonNullable<AnswerRecord["top"]>[number];

/** Tokens that are the text; others could not name where the text parts. */
function tokensOf({ tokens, output }: AnswerRecord): readonly string[] | null {
  return tokens !== null && tokens.join("") === output ? tokens : null;
}

/** The first index at which two lists differ: the length of the shorter one when it begins the other. */
export function firstDifference(left: readonly string[], right: readonly string[]): number {
  let at = 0;
  while (at < left.length && at < right.length && left[at] === right[at]) at++;
  return at;
}

function shownToken(token: string | undefined): string | null {
  return token === undefined ? null : shortened(token, MOST_SHOWN);
}

function apartAt(left: Top | undefined, right: Top | undefined): number | null {
  if (left === undefined || right === undefined) return null;
  if (left.length === 0 || right.length === 0) return null;
  const [a, b] = [new Map(left), new Map(right)];
  const [leastA, leastB] = [Math.min(...a.values()), Math.min(...b.values())];
  const names = new Set([...a.keys(), ...b.keys()]);
  let sum = 0;
  for (const name of names) sum += Math.abs((a.get(name) ?? leastA) - (b.get(name) ?? leastB));
  return sum / names.size;
}

function preference(
  left: Top | undefined,
  right: Top | undefined,
  chosenLeft: string | undefined,
  chosenRight: string | undefined,
): number | null {
  if (left === undefined || right === undefined) return null;
  if (chosenLeft === undefined || chosenRight === undefined) return null;
  const over = (top: Top, own: string, other: string): number | null => {
    const named = new Map(top);
    const mine = named.get(own);
    if (mine === undefined) return null;
    return mine - (named.get(other) ?? Math.min(...named.values()));
  };
  const [one, two] = [over(left, chosenLeft, chosenRight), over(right, chosenRight, chosenLeft)];
  return one === null || two === null ? null : one + two;
}
