/**
 * How a command ended on each host, and what the process exits with for all of them.
 *
 * Outcomes are independent: one host that is down says nothing about another. The set is closed;
 * `code` tells more. A host without an outcome is not in the list.
 *
 * @module
 */

import type { Json } from "../core/canonical_json.ts";
import type { AgentFailure } from "../topology/transport.ts";

/** Every way a host can answer for itself, or fail to. */
export const OUTCOMES = [
  "done", // asked, and answered
  "refused", // the agent said no, or this side did before it asked
  "busy", // the agent said: not now; nothing was done
  "unreachable", // no usable answer; for a mutation only with proof that it was not sent
  "unauthorized", // this node's agent does not know the token, or gives it no such scope
  "wrong_node", // an agent answers there, of another node; nothing was asked of it
  "timed_out", // a read took too long, or the proof of who answers did
  "may_have_executed", // a mutation left here, and what became of it was not told
] as const;

/** One of {@link OUTCOMES}. */
export type OutcomeKind = (typeof OUTCOMES)[number];

/** What an agent says of itself in `GET /health`, as it said it. */
export type Health = { readonly [key: string]: Json };

/** How it ended on one host. */
export interface Outcome {
  readonly host: string;
  readonly kind: OutcomeKind;
  /** Stable; null when done. The agent's own code where it gave one. */
  readonly code: string | null;
  /** One sentence; empty when done. */
  readonly detail: string;
  /** What a person does next, where that helps. */
  readonly nextStep: string | null;
  /** True only when it is certain that what was asked never left for this node. */
  readonly notSent: boolean;
  /** How the attempt failed, for the question whether recovery is allowed; null when it did not. */
  readonly failure: AgentFailure | null;
  /** What was asked for; null unless done. */
  readonly result: Json;
  /** The run in the node's ledger, where the agent told of one. */
  readonly run: Json;
  /** The key had been used for the same before: this is how that run ended. */
  readonly known: boolean;
  /** What the agent said of itself, once it was proven to be the right one. */
  readonly health: Health | null;
  /** The node's clock minus ours, in milliseconds, as exact as a `date` header is; null when untold. */
  readonly skewMs: number | null;
  readonly tookMs: number;
}

/**
 * What to exit with: a function of the list and of how many hosts were asked for.
 *
 * Partial success is the normal result: 0 when every host has an outcome and one at least is done.
 * `requireAll` asks for all of them. Anything else is 1.
 */
export function exitCodeOf(
  outcomes: readonly Pick<Outcome, "kind">[],
  hosts: number,
  requireAll: boolean,
): 0 | 1 {
  const done = outcomes.filter(({ kind }) => kind === "done").length;
  if (outcomes.length < hosts) return 1;
  return done > 0 && (!requireAll || done === hosts) ? 0 : 1;
}

/** How many there are of each kind, none left out. */
export function countOutcomes(
  outcomes: readonly Pick<Outcome, "kind">[],
): Readonly<Record<OutcomeKind, number>> {
  const counts = Object.fromEntries(OUTCOMES.map((kind) => [kind, 0])) as Record<
    OutcomeKind,
    number
  >;
  for (const { kind } of outcomes) counts[kind]++;
  return counts;
}

/** Parts of an outcome that most have alike. */
const PLAIN = {
  nextStep: null,
  notSent: false,
  failure: null,
  result: null,
  run: null,
  known: false,
  health: null,
  skewMs: null,
  tookMs: 0,
} as const;

/** An outcome that is not `done`. */
export function fell(
  host: string,
  kind: Exclude<OutcomeKind, "done">,
  code: string,
  detail: string,
  more: Partial<Outcome> = {},
): Outcome {
  return { ...PLAIN, host, kind, code, detail, ...more };
}

/** A `done`. */
export function done(host: string, result: Json, more: Partial<Outcome> = {}): Outcome {
  return { ...PLAIN, host, kind: "done", code: null, detail: "", result, ...more };
}
