/**
 * A change on one host, the same way for every command:
 *
 *     dry run ─> the plan as a table ─> not confirmed: that was all
 *                                    ─> live run, its steps as they happen ─> how it ended
 *
 * With `--key` an earlier call is joined: no plan is asked for, which might be refused because that
 * very run is under way. With `--json` one call is made, the one that was asked for, unless a
 * receipt has to say what was planned.
 *
 * @module
 */

import type { Json } from "../../lib/core/canonical_json.ts";
import { newId } from "../../lib/core/ids.ts";
import type { Refusal } from "../../lib/core/refusal.ts";
import type { Ask } from "../../lib/dispatch/ask.ts";
import { JOIN } from "../../lib/dispatch/failing.ts";
import type { Outcome } from "../../lib/dispatch/outcome.ts";
import type { PlannedHost } from "../../lib/dispatch/plan.ts";
import { type JsonObject, objectOf } from "../../lib/dispatch/reply.ts";
import type { ProgramContext } from "../../lib/terminal/program.ts";
import type { ChangeFlags, DestructiveFlags } from "./change_flags.ts";
import { type Ready, runDispatch, runVisits, visitorOf } from "./dispatch.ts";
import { prepareOne, readAsk } from "./one_host.ts";
import type { Operator } from "./operator.ts";
import { reportOutcomes } from "./outcome_report.ts";
import { reportFailure } from "./report.ts";
import { lastLook, type Poll, watchRun } from "./run_watch.ts";
import { RunView } from "./run_view.ts";
import { harmless, textsTold } from "./told.ts";

/** What is asked of the host, and how it is shown. */
export interface Change {
  readonly name: string;
  readonly input: Json;
  /** It is confirmed first. */
  readonly destructive: boolean;
  /** The result of a dry run, for a person. */
  readonly plan: (outcome: Outcome) => string;
  /** The result of a live run. */
  readonly show: (outcome: Outcome) => string;
  /** The serve whose last lines explain why it is not fit. */
  readonly serve?: string;
  /** The command that tells more, without its target, once a run has failed. */
  readonly more: string;
  /** What is written down around a live run. */
  readonly record?: {
    /** A plan is made for it, with `--json` too: it says what is to be written down. */
    readonly planned?: true;
    /**
     * Before anything is sent; a refusal leaves it unsent. `planned` is the plan, and null when an
     * earlier call is joined.
     */
    readonly before: (planned: Outcome | null) => Promise<Refusal | null>;
    /** Once the outcome is known; what it gives is told. */
    readonly after: (outcome: Outcome) => Promise<Outcome>;
  };
}

/** Codes of a serve whose own words tell more than ours. */
const ENGINE_CODES: ReadonlySet<string> = new Set(
  ["serve_died", "serve_never_healthy", "identity_mismatch"],
);
/** Lines of it that are shown. */
const LAST_LINES = 20;
/** A look while a run goes on may take so long, in seconds. */
const LOOK_SECONDS = 5;

/** Plans, shows, and carries out. */
export async function runChange(
  context: ProgramContext,
  operator: Operator,
  flags: ChangeFlags | DestructiveFlags,
  change: Change,
): Promise<void> {
  const ready = await prepareOne(operator, flags);
  if (ready.kind !== "ready") return reportFailure(context, ready, flags.json);
  const confirmed = !change.destructive || confirmedBy(flags);
  const live = !flags.dryRun && confirmed;
  let steps: readonly string[] = [];
  let planned: Outcome | null = null;
  const first = !flags.json || change.record?.planned === true;
  if (!live || (flags.key === undefined && first)) {
    const ask = askOf(change, { dryRun: true, confirm: false, key: "this-is-a-dry-run" });
    const dry = await runDispatch(context, operator, ready, flags, ask);
    const [outcome] = dry.outcomes;
    if (!live || outcome?.kind !== "done") {
      return reportOutcomes(context, dry, {
        ...flags,
        show: change.plan,
        unconfirmed: !flags.dryRun && !confirmed,
      });
    }
    if (!flags.json) context.terminal.err(change.plan(outcome));
    planned = outcome;
    steps = textsTold(objectOf(outcome.result) ?? {}, "steps");
  }
  await carryOut(context, operator, ready, flags, change, { planned, steps });
}

async function carryOut(
  context: ProgramContext,
  operator: Operator,
  ready: Ready,
  flags: ChangeFlags | DestructiveFlags,
  change: Change,
  { planned, steps }: { readonly planned: Outcome | null; readonly steps: readonly string[] },
): Promise<void> {
  const { clock } = operator.ports;
  const unwritten = await change.record?.before(planned) ?? null;
  if (unwritten !== null) return reportFailure(context, unwritten, flags.json);
  const key = flags.key ?? newId("op", operator.dispatch.random);
  const sent = Promise.withResolvers<void>();
  let said: string | null = null;
  const visitor = visitorOf(operator, ready, flags, () => {
    // Also with --json: whoever is killed now still has the key.
    if (said === null) context.terminal.err(`key: ${key}\n`);
    said = key;
    sent.resolve();
  });
  const looker = visitorOf(operator, ready, { ...flags, timeout: LOOK_SECONDS }, () => {});
  let lines: readonly string[] = [];
  const recorded = async (outcome: Outcome) => await change.record?.after(outcome) ?? outcome;
  const each = async (host: PlannedHost, signal: AbortSignal) => {
    const view = new RunView(context.terminal, clock, {
      host: host.host,
      quiet: flags.json,
      steps,
    });
    const poll: Poll = (ask, until) => looker(host, ask, until);
    const wanted = { operation: change.name, key };
    const over = new AbortController();
    const watching = sent.promise.then(() => watchRun(clock, poll, wanted, view, over.signal));
    const ask = askOf(change, { dryRun: false, confirm: confirmedBy(flags), key });
    const outcome = await visitor(host, ask, signal);
    over.abort();
    sent.resolve();
    const seen = await watching;
    view.end();
    if (outcome === null) return null;
    if (outcome.kind === "may_have_executed" && outcome.run === null) {
      const now = await lastLook(clock, poll, wanted, seen);
      return await recorded(
        now === null && seen === null ? outcome : lost(outcome, { now, seen, key }),
      );
    }
    if (!flags.json && change.serve !== undefined && ENGINE_CODES.has(outcome.code ?? "")) {
      const input = { serve: change.serve, lines: LAST_LINES };
      const logs = await poll(readAsk("serves.logs", input), new AbortController().signal);
      lines = textsTold(objectOf(logs?.result) ?? {}, "lines");
    }
    return await recorded(settled(outcome, change));
  };
  const dispatched = await runVisits(
    context,
    operator,
    ready,
    { json: flags.json, atOnce: 1 },
    each,
  );
  reportOutcomes(context, dispatched, { ...flags, key: said, show: change.show });
  if (lines.length > 0) {
    const text = lines.map((line) => `  ${line}\n`).join("");
    context.terminal.err(harmless(`the last lines of ${change.serve}:\n${text}`));
  }
}

function confirmedBy(flags: ChangeFlags | DestructiveFlags): boolean {
  return "confirm" in flags && flags.confirm;
}

function askOf(
  { name, input }: Change,
  how: { readonly dryRun: boolean; readonly confirm: boolean; readonly key: string },
): Ask {
  return { kind: "call", name, input, ...how };
}

/** The answer was lost and the node was asked again: what is known of the run, and how to ask. */
function lost(
  outcome: Outcome,
  { now, seen, key }: {
    readonly now: JsonObject | null;
    readonly seen: JsonObject | null;
    readonly key: string;
  },
): Outcome {
  const run = now ?? seen ?? {};
  const { id, state, step, code } = run;
  const at = typeof step === "string" ? `, its last step is \`${step}\`` : "";
  const how = now === null
    ? `the node does not tell how the run is now; when it was last seen it was ${
      String(state)
    }${at}`
    : state === "running"
    ? `the run goes on at the node without it${at}`
    : `the run is over by now: ${String(state)}${typeof code === "string" ? `, ${code}` : ""}${at}`;
  return {
    ...outcome,
    detail: `${outcome.detail}; ${how}`,
    nextStep: `anvil-operator op status --target host:${outcome.host} ${String(id)}; ` +
      `or give the same command again with --key ${key}, which joins it`,
    run,
  };
}

/** A run that is over is not joined to learn how it ended: that was told. */
function settled(outcome: Outcome, { more }: Change): Outcome {
  const state = objectOf(outcome.run)?.["state"];
  return state === undefined || state === "running" || outcome.nextStep !== JOIN
    ? outcome
    : { ...outcome, nextStep: `anvil-operator ${more} --target host:${outcome.host}` };
}
