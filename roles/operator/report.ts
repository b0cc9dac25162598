/**
 * How operator commands say what they found.
 *
 * @module
 */

import type { Json } from "../../lib/core/canonical_json.ts";
import type { Refusal } from "../../lib/core/refusal.ts";
import type { FileProblem, InvalidSet } from "../../lib/home/ports.ts";
import { problemLines } from "../../lib/terminal/problems.ts";
import { printEnvelope, type ProgramContext, reportRefusal } from "../../lib/terminal/program.ts";
import type { WrongFile } from "./fleet_source.ts";

/** Says what is wrong, and that nothing was done: exit 2 for files, 1 for refusals. */
export function reportFailure(
  context: ProgramContext,
  failure: WrongFile | InvalidSet | Refusal,
  json: boolean,
): void {
  if (failure.kind === "refused") return reportRefusal(context, failure, json);
  const problems: readonly FileProblem[] = "file" in failure
    ? failure.problems.map((one) => ({ ...one, file: failure.file }))
    : failure.problems;
  reportFiles(context, problems, null, json);
}

/** Says what is wrong in one or several files: exit 2. */
export function reportFiles(
  context: ProgramContext,
  problems: readonly FileProblem[],
  data: Json,
  json: boolean,
): void {
  context.exit(2);
  if (json) {
    return printEnvelope(context, {
      ok: false,
      data,
      problems: problems.map((one) => ({ ...one })),
    });
  }
  for (const file of new Set(problems.map((problem) => problem.file))) {
    const own = problems.filter((problem) => problem.file === file);
    context.terminal.err(problemLines(file, own, context.terminal.color));
  }
}

export { reportData } from "../../lib/terminal/program.ts";
