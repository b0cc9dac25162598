/**
 * Looking at many hosts: each is proven once and asked several reads over the one connection. What
 * they told is made small at once: a fan-out holds what a table needs, not what came over the wire.
 *
 * @module
 */

import { CatalogueShelf } from "../../lib/dispatch/catalogue_shelf.ts";
import { MOST_AT_ONCE } from "../../lib/dispatch/fan_out.ts";
import type { Outcome } from "../../lib/dispatch/outcome.ts";
import type { PlannedHost } from "../../lib/dispatch/plan.ts";
import { findToken } from "../../lib/dispatch/token_source.ts";
import { type CallAsk, type FollowUp, look, type Looked } from "../../lib/dispatch/visit.ts";
import type { ProgramContext } from "../../lib/terminal/program.ts";
import { type Dispatched, PROOF_MS, type Ready, runVisits } from "./dispatch.ts";
import type { DispatchFlags } from "./dispatch_flags.ts";
import type { Operator } from "./operator.ts";

/** What is asked of every host, and what is kept of it. */
export interface LookAsk<Kept> {
  readonly asksOf: (host: string) => readonly CallAsk[];
  readonly followUpOf?: (host: string) => FollowUp;
  /** Of one answer, in bytes; at most as many hosts as are asked at once hold one. */
  readonly mostBytes?: number;
  /** How the look at a host ended; as the proof of who answers did, when it is left out. */
  readonly outcomeOf?: (looked: Looked) => Outcome;
  /** `looked` is null when the command was ended before anything true could be said. */
  readonly keep: (host: string, looked: Looked | null) => Kept;
}

/** What was kept of each host, beside how it answered. */
export interface LookedAll<Kept> {
  readonly dispatched: Dispatched;
  readonly kept: ReadonlyMap<string, Kept>;
}

/** 64 hosts at once with an answer of this size each stay at 16 MiB. */
const MOST_ANSWER_BYTES = 256 * 1024;

/** Looks at every host of the plan. A stop signal ends it: what is true by then is told. */
export async function runLooks<Kept>(
  context: ProgramContext,
  operator: Operator,
  ready: Ready,
  flags: Pick<DispatchFlags, "json" | "connectTimeout" | "timeout">,
  { asksOf, followUpOf, mostBytes = MOST_ANSWER_BYTES, outcomeOf = ({ proof }) => proof, keep }:
    LookAsk<Kept>,
): Promise<LookedAll<Kept>> {
  const kept = new Map<string, Kept>();
  const ports = {
    clock: operator.ports.clock,
    open: operator.dispatch.open(ready.authorities),
    catalogues: new CatalogueShelf(operator.ports.sha256),
    token: ({ token }: PlannedHost) => findToken(ready.tokens, token),
  };
  const limits = {
    connectMs: flags.connectTimeout * 1000,
    proofMs: PROOF_MS,
    askMs: flags.timeout === undefined ? null : flags.timeout * 1000,
    mostBytes,
  };
  const dispatched = await runVisits(
    context,
    operator,
    ready,
    { json: flags.json, atOnce: MOST_AT_ONCE },
    async (host, signal) => {
      const { host: id } = host;
      const looked = await look(ports, host, asksOf(id), limits, signal, followUpOf?.(id));
      kept.set(id, keep(id, looked));
      return looked === null ? null : outcomeOf(looked);
    },
  );
  for (const host of dispatched.silent) if (!kept.has(host)) kept.set(host, keep(host, null));
  return { dispatched, kept };
}
