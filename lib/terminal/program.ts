/**
 * How every binary behaves on a command line: help, version, exit codes, one JSON envelope.
 *
 * Exit codes: 0 done; 1 refused or failed; 2 the command line or a file it names is wrong;
 * 3 a person must look (manual recovery). Only `main.ts` exits.
 *
 * @module
 */

import { type Application, type CommandContext, run } from "@stricli/core";
import type { Json } from "../core/canonical_json.ts";
import type { Problem } from "../core/problem.ts";
import type { Refusal } from "../core/refusal.ts";
import type { Terminal } from "../core/terminal.ts";
import type { Build } from "../core/version.ts";
import { COMPLETE, proposals } from "./completion.ts";
import { problemLines } from "./problems.ts";

/** What every command gets as `this`. */
export interface ProgramContext extends CommandContext {
  readonly terminal: Terminal;
  /** Sets what the process exits with; the last word counts. */
  readonly exit: (code: ExitCode) => void;
}

/** What a process may exit with. */
export type ExitCode = 0 | 1 | 2 | 3;

/** Runs `app` and returns what the process must exit with. */
export async function runProgram(
  app: Application<ProgramContext>,
  build: Build,
  args: readonly string[],
  terminal: Terminal,
): Promise<number> {
  if (args[0] === "--version" || args[0] === "-V") {
    const json = args[1] === "--json";
    terminal.out(json ? `${JSON.stringify(build)}\n` : `${build.name} ${build.version}\n`);
    return 0;
  }
  if (args[0] === COMPLETE) {
    for (const proposal of await proposals(app, args.slice(1), terminal)) {
      terminal.out(`${proposal}\n`);
    }
    return 0;
  }
  let chosen: ExitCode = 0;
  const streams: { stdout: Sink; stderr: Sink; exitCode: number | string | null } = {
    stdout: { write: terminal.out },
    stderr: { write: terminal.err },
    exitCode: null,
  };
  const exit = (code: ExitCode) => {
    chosen = code;
  };
  await run(app, args, { process: streams, terminal, exit });
  const library = Number(streams.exitCode ?? 0);
  // The library's own codes are negative: an unknown command or argument, or something thrown.
  if (library === 0) return chosen;
  return library === -4 || library === -5 ? 2 : 1;
}

interface Sink {
  readonly write: (text: string) => void;
}

/** Prints problems with a file and says that the command line or file is wrong (exit 2). */
export function reportProblems(
  context: ProgramContext,
  file: string,
  problems: readonly Problem[],
  json: boolean,
): void {
  context.exit(2);
  if (json) {
    printEnvelope(context, {
      ok: false,
      data: null,
      problems: problems.map((one) => ({ ...one, file })),
    });
  } else context.terminal.err(problemLines(file, problems, context.terminal.color));
}

/** Prints a refusal and exits with `code`. */
export function reportRefusal(
  context: ProgramContext,
  refusal: Refusal,
  json: boolean,
  code: ExitCode = 1,
): void {
  context.exit(code);
  if (json) {
    const { detail, nextStep } = refusal;
    const problem = { path: "$", code: refusal.code, message: detail };
    const problems = [nextStep === undefined ? problem : { ...problem, next_step: nextStep }];
    printEnvelope(context, { ok: false, data: null, problems });
  } else {
    const next = refusal.nextStep === undefined ? "" : `\n  next: ${refusal.nextStep}`;
    context.terminal.err(`${refusal.code}: ${refusal.detail}${next}\n`);
  }
}

/** The one envelope of `--json`. */
export interface Envelope {
  readonly ok: boolean;
  readonly data: Json;
  readonly problems: readonly { readonly [key: string]: Json | undefined }[];
}

/** Prints the envelope as one line on stdout. */
export function printEnvelope(context: ProgramContext, envelope: Envelope): void {
  context.terminal.out(`${JSON.stringify(envelope).replaceAll(STEERING, escaped)}\n`);
}

/** What a terminal may obey and JSON leaves as it is: the same text, spelled otherwise. */
const STEERING = /[\u007f-\u009f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/g;

function escaped(character: string): string {
  return `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`;
}

/** Says what was found: the envelope, or what `text` makes of it. */
export function reportData(
  context: ProgramContext,
  data: Json,
  text: () => string,
  json: boolean,
  code: ExitCode = 0,
): void {
  context.exit(code);
  if (json) printEnvelope(context, { ok: code === 0, data, problems: [] });
  else context.terminal.out(text());
}
