/**
 * A token made on a node: kept aside, told to the node by its hash, proven, then put in its place.
 *
 *     aside ─> tokens.issue | tokens.rotate ─> /health with the new one ─> in its place
 *
 * Whatever stops in between: the old token is where it was, and the same command goes on.
 *
 * @module
 */

import type { Json } from "../../lib/core/canonical_json.ts";
import type { Clock } from "../../lib/core/clock.ts";
import { newId } from "../../lib/core/ids.ts";
import { fell, type Outcome } from "../../lib/dispatch/outcome.ts";
import type { PlannedHost } from "../../lib/dispatch/plan.ts";
import { objectOf } from "../../lib/dispatch/reply.ts";
import type { Visitor } from "./dispatch.ts";
import type { Operator } from "./operator.ts";
import { pendingToken } from "./token_store.ts";

/** What is to be made. */
export interface TokenChange {
  readonly operation: "tokens.issue" | "tokens.rotate";
  /** The operation's input besides the token. */
  readonly input: { readonly [key: string]: Json };
  /** Its name in the store. */
  readonly name: string;
  readonly store: string | null;
  /** There is one of that name already, and this one takes its place. */
  readonly replace: boolean;
}

/** An agent reads its clients file every second; this many milliseconds are waited for it. */
const TAKEN_IN_MS = 3000;
const BETWEEN_MS = 250;

/** Makes it on one host. */
export async function changeToken(
  operator: Operator,
  visitor: Visitor,
  host: PlannedHost,
  change: TokenChange,
  signal: AbortSignal,
): Promise<Outcome | null> {
  const pending = await pendingToken(operator, change.store, change.name, change.replace);
  if (pending.kind === "refused") {
    const { code, detail, nextStep = null } = pending;
    return fell(host.host, "refused", code, detail, { notSent: true, nextStep });
  }
  await using _held = pending;
  const outcome = await visitor(host, {
    ...{ kind: "call", name: change.operation, dryRun: false, confirm: false },
    input: { ...change.input, token: pending.hash },
    key: newId("op", operator.dispatch.random),
  }, signal);
  // An earlier command may have come so far that the old token is over already.
  const perhaps = outcome === null || outcome.kind === "done" ||
    outcome.kind === "may_have_executed" || (pending.resumed && outcome.kind === "unauthorized");
  if (!perhaps) return outcome;
  const proven = await isTaken(
    operator.ports.clock,
    async () => {
      const proof = await visitor(host, { kind: "health" }, signal, pending.secret);
      // A client without `node.health:read` is known when it is told what it lacks.
      return proof?.kind === "done" || proof?.code === "scope_missing";
    },
    outcome?.kind === "done" ? TAKEN_IN_MS : BETWEEN_MS,
    signal,
  );
  if (!proven) {
    return outcome?.kind === "done"
      ? fell(
        host.host,
        "may_have_executed",
        "token_not_proven",
        "the node said yes, and does not know the new token yet; the old one stays in its place",
        { nextStep: "run the same command again: it goes on with the same token" },
      )
      : outcome;
  }
  const trouble = await pending.keep();
  if (trouble !== null) {
    return fell(host.host, "may_have_executed", trouble.code, trouble.detail, {
      nextStep: "run the same command again: it goes on with the same token",
    });
  }
  const told = objectOf(outcome?.result) ?? { added: pending.hash.id };
  return outcome === null ? null : {
    ...outcome,
    ...{ kind: "done", code: null, detail: "", nextStep: null, failure: null, notSent: false },
    result: { ...told, saved_as: change.name },
  };
}

async function isTaken(
  clock: Clock,
  look: () => Promise<boolean>,
  mostMs: number,
  signal: AbortSignal,
): Promise<boolean> {
  const end = clock.monotonic() + mostMs;
  for (;;) {
    if (await look()) return true;
    if (signal.aborted || clock.monotonic() >= end) return false;
    await clock.sleep(BETWEEN_MS, signal).catch(() => {});
  }
}
