/**
 * What is wrong with the time that a supervisor's file grants a program: the file, read and held
 * against the drain.
 *
 * @module
 */

import type { Files } from "../core/files.ts";
import type { Problem } from "../core/problem.ts";
import { type Drained, graceProblem, readGrace } from "./grace.ts";

/** No supervisor file is larger. */
const MOST_BYTES = 256 * 1024;

/** The problem of the file at `path`; null when it outlasts `drainSeconds`. */
export async function supervisorProblem(
  files: Files,
  path: string,
  drainSeconds: number,
  drained: Drained,
): Promise<Problem | null> {
  const read = await files.readBounded(path, MOST_BYTES);
  if (read.kind === "absent") return problem("file_absent", "there is no such file");
  if (read.kind === "refused") return problem(read.code, read.detail);
  let text: string;
  try {
    text = new TextDecoder("utf-8", { fatal: true }).decode(read.bytes);
  } catch {
    return problem("not_utf8", "the file is not UTF-8 text");
  }
  const grace = readGrace(path, text);
  const refusal = grace.kind === "refused" ? grace : graceProblem(grace, drainSeconds, drained);
  return refusal === null
    ? null
    : problem(refusal.code, `${refusal.detail}; ${refusal.nextStep ?? "mend the file"}`);
}

function problem(code: string, message: string): Problem {
  return { path: "$", code, message };
}
