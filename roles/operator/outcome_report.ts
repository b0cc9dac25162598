/**
 * Outcomes for people and for programs.
 *
 * @module
 */

import type { Json } from "../../lib/core/canonical_json.ts";
import { countOutcomes, exitCodeOf, type Outcome } from "../../lib/dispatch/outcome.ts";
import { recover } from "../../lib/dispatch/recovery.ts";
import { printEnvelope, type ProgramContext } from "../../lib/terminal/program.ts";
import { table } from "../../lib/terminal/table.ts";
import type { Dispatched } from "./dispatch.ts";
import { harmless } from "./told.ts";

/** How a command wants its outcomes told. */
export interface ReportAsk {
  readonly json: boolean;
  readonly requireAll: boolean;
  readonly recoverViaSsh?: boolean;
  /** Only a plan was made, because nobody confirmed: that is no success. */
  readonly unconfirmed?: boolean;
  /** What was sent with mutations; null when none was. */
  readonly key?: string | null;
  /** The result of a host that is done, in one cell, or in whole when it is the only host. */
  readonly show: (outcome: Outcome, alone: boolean) => string;
  /** Instead of one row per outcome. */
  readonly whole?: (dispatched: Dispatched) => { readonly text: string; readonly data: Json };
  /** Told the text of `whole`, also where only the envelope is printed. */
  readonly also?: Also;
}

/** Gets what people would have read beside an envelope. */
export type Also = (text: string) => void;

type HostProblem = {
  /** The host's id. */
  readonly path: string;
  readonly code: string;
  readonly message: string;
  readonly next_step?: string;
};

/** Prints the outcomes and sets the exit code. */
export function reportOutcomes(
  context: ProgramContext,
  dispatched: Dispatched,
  ask: ReportAsk,
): void {
  const { plan, outcomes, silent, index } = dispatched;
  const planned = ask.unconfirmed === true ? outcomes.filter(({ kind }) => kind === "done") : [];
  const code = planned.length > 0 ? 1 : exitCodeOf(outcomes, plan.hosts.length, ask.requireAll);
  context.exit(code);
  const problems: HostProblem[] = [
    ...outcomes.filter(({ kind }) => kind !== "done").map((one) => ({
      path: one.host,
      code: one.code ?? one.kind,
      message: one.detail,
      ...(one.nextStep === null ? {} : { next_step: one.nextStep }),
    })),
    ...silent.map((host) => ({
      path: host,
      code: "interrupted",
      message: "the command was ended before this host had an outcome; nothing was changed there",
    })),
    ...planned.map(({ host }) => ({
      path: host,
      code: "confirm_required",
      message: "this is the plan, and nothing was done",
      next_step: "look at it, then give the same command with --confirm",
    })),
    ...(ask.recoverViaSsh === true ? outcomes : []).flatMap((one) => {
      const refusal = recover(index, one);
      if (refusal === null) return [];
      const { code, detail: message, nextStep } = refusal;
      const next = nextStep === undefined ? {} : { next_step: nextStep };
      return [{ path: one.host, code, message, ...next }];
    }),
  ];
  const whole = ask.whole?.(dispatched);
  if (whole !== undefined) ask.also?.(whole.text);
  if (ask.json) {
    return printEnvelope(context, {
      ok: code === 0,
      data: {
        fingerprint: plan.fingerprint,
        because: plan.because,
        hosts: plan.hosts.length,
        counts: countOutcomes(outcomes),
        key: ask.key ?? null,
        outcomes: outcomes.map(outcomeData),
        without_outcome: [...silent],
        ...(whole === undefined ? {} : { fleet: whole.data }),
      },
      problems,
    });
  }
  const [only] = outcomes;
  if (whole !== undefined) context.terminal.out(whole.text);
  else if (plan.hosts.length === 1 && only?.kind === "done") {
    context.terminal.out(ask.show(only, true));
  } else if (plan.hosts.length > 1) {
    context.terminal.out(table(
      ["host", "outcome", "code", "took", "result"],
      outcomes.map((one) => [
        one.host,
        one.kind,
        one.code ?? "",
        `${one.tookMs} ms`,
        one.kind === "done" ? ask.show(one, false) : one.detail,
      ]),
    ));
  }
  // A table of the fleet says in its last column why.
  const told = whole === undefined ? problems : [];
  for (const { path, code, message, next_step } of told) {
    const next = next_step === undefined ? "" : `\n  next: ${next_step}`;
    context.terminal.err(harmless(`${path}: ${code}: ${message}${next}\n`));
  }
  const alone = whole === undefined && plan.hosts.length === 1 ? only : undefined;
  if (alone !== undefined && alone.kind !== "done") {
    context.terminal.err(
      `${alone.host}: ${alone.kind}${alone.notSent ? ", and nothing was sent" : ""}\n`,
    );
  }
}

/** An outcome as JSON. */
export function outcomeData(one: Outcome): Json {
  return {
    host: one.host,
    outcome: one.kind,
    code: one.code,
    detail: one.detail,
    next_step: one.nextStep,
    not_sent: one.notSent,
    result: one.result,
    run: one.run,
    known: one.known,
    agent: one.health,
    skew_ms: one.skewMs,
    took_ms: one.tookMs,
  };
}

/** JSON over several lines, or in one that a cell holds. */
export function shownJson(value: Json, alone: boolean): string {
  if (alone) return harmless(`${JSON.stringify(value, null, 2)}\n`);
  const line = JSON.stringify(value);
  return line.length > 80 ? `${line.slice(0, 79)}…` : line;
}
