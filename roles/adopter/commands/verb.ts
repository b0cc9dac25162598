/**
 * What every verb has: the configuration, who gives it, one writer, one outcome.
 *
 * @module
 */

import { type By, type Override, OVERRIDES } from "../../../lib/adoption/slots.ts";
import { refuse } from "../../../lib/core/refusal.ts";
import { JSON_FLAG } from "../../../lib/terminal/json_flag.ts";
import {
  printEnvelope,
  type ProgramContext,
  reportProblems,
  reportRefusal,
} from "../../../lib/terminal/program.ts";
import { type Adopter, openAdopter } from "../adopter.ts";
import { DEFAULT_CONFIG, loadConfig } from "../config_file.ts";
import type { Outcome } from "../outcome.ts";
import type { AdopterPorts } from "../ports.ts";
import type { Despite } from "../verbs/adopt.ts";

/** What `main.ts` gives the commands. */
export interface Wiring {
  readonly ports: AdopterPorts;
  /** Who gives the command, as the environment says. */
  readonly who: string;
}

/** Flags of every verb. */
export interface VerbFlags {
  readonly config: string;
  readonly json: boolean;
}

/** Their declaration. */
export const VERB_FLAGS = {
  config: {
    kind: "parsed",
    brief: "The configuration",
    parse: String,
    default: DEFAULT_CONFIG,
    placeholder: "FILE",
  },
  json: JSON_FLAG,
} as const;

/** The flag by which units say that no person asked. */
export const TIMER_FLAG = {
  kind: "boolean",
  brief: "A timer asks: the host's policy holds",
  default: false,
  withNegated: false,
} as const;

/** Why something is done. */
export const WHY_FLAG = {
  kind: "parsed",
  brief: "Why: stands in the receipt",
  parse: String,
  placeholder: "TEXT",
} as const;

/** One flag per rule that a person may set aside. */
export interface DespiteFlags {
  readonly despiteGates: boolean;
  readonly despitePause: boolean;
  readonly despiteRejection: boolean;
  readonly despiteBaseline: boolean;
  readonly despiteRestartSensitive: boolean;
  readonly despiteDowngrade: boolean;
  readonly why?: string;
}

const despite = (brief: string) =>
  ({ kind: "boolean", brief, default: false, withNegated: false }) as const;

/** Their declaration. */
export const DESPITE_FLAGS = {
  despiteGates: despite("Although a gate is not clear"),
  despitePause: despite("Although somebody paused"),
  despiteRejection: despite("Although it was rejected"),
  despiteBaseline: despite("Although a required probe cannot tell"),
  despiteRestartSensitive: despite("Although a restart-sensitive unit would be restarted"),
  despiteDowngrade: despite("Although what runs is newer"),
  why: { ...WHY_FLAG, optional: true },
} as const;

const RULE_OF = {
  "gates": "despiteGates",
  "pause": "despitePause",
  "rejection": "despiteRejection",
  "baseline": "despiteBaseline",
  "restart-sensitive": "despiteRestartSensitive",
  "downgrade": "despiteDowngrade",
} as const satisfies Record<Override, keyof DespiteFlags>;

/** What is set aside; null when nobody said why, or a timer asks. */
export function despiteOf(flags: DespiteFlags, by: By): Despite | null {
  const rules = OVERRIDES.filter((rule) => flags[RULE_OF[rule]]);
  if (rules.length === 0) return { rules, why: "" };
  return flags.why === undefined || flags.why.trim() === "" || by.kind === "timer"
    ? null
    : { rules, why: flags.why };
}

/** Runs `act` as the only writer, and prints what it came to. Contention is no failure. */
export async function runVerb(
  context: ProgramContext,
  { ports, who }: Wiring,
  { config: file, json, timer }: VerbFlags & { readonly timer?: boolean },
  verb: string,
  act: (adopter: Adopter) => Promise<Outcome>,
): Promise<void> {
  const loaded = await loadConfig(file);
  if (loaded.kind === "invalid") return reportProblems(context, file, loaded.problems, json);
  const by: By = { who, kind: timer === true ? "timer" : "person" };
  const opened = await openAdopter(loaded.model, ports, by, verb);
  if (opened.kind === "busy") {
    const detail = "another adopter is at work on this host; nothing was done";
    return report(context, { exit: 0, code: "busy", detail, data: null }, json);
  }
  if (opened.kind === "refused") {
    return reportRefusal(context, opened, json, opened.code === "journal_damaged" ? 3 : 1);
  }
  await using adopter = opened;
  report(context, await act(adopter), json);
}

/** Prints an outcome. */
export function report(context: ProgramContext, outcome: Outcome, json: boolean): void {
  const { exit, code, detail, nextStep, data } = outcome;
  if (exit !== 0) {
    const refusal = nextStep === undefined ? refuse(code, detail) : refuse(code, detail, nextStep);
    if (!json || data === null) return reportRefusal(context, refusal, json, exit);
  }
  context.exit(exit);
  if (json) {
    const problems = exit === 0 ? [] : [{ path: "$", code, message: detail }];
    printEnvelope(context, { ok: exit === 0, data: { ...object(data), code, detail }, problems });
  } else context.terminal.out(`${code}${detail === "" ? "" : `: ${detail}`}\n`);
}

function object(data: Outcome["data"]): { readonly [key: string]: Outcome["data"] } {
  return typeof data === "object" && data !== null && !Array.isArray(data)
    ? data as { readonly [key: string]: Outcome["data"] }
    : {};
}
