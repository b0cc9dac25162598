/**
 * Problems as lines a person can follow, and an editor can jump to.
 *
 * @module
 */

import type { Problem } from "../core/problem.ts";

/** One line per problem, then how many there are. */
export function problemLines(file: string, problems: readonly Problem[], color: boolean): string {
  const paint = (code: number, text: string) => color ? `\x1b[${code}m${text}\x1b[0m` : text;
  const lines = problems.map((problem) => {
    const place = problem.line === undefined
      ? file
      : `${file}:${problem.line}${problem.column === undefined ? "" : `:${problem.column}`}`;
    return `${place}: ${paint(1, problem.path)}: ${paint(31, problem.code)}: ${problem.message}`;
  });
  const count = problems.length === 1 ? "1 problem" : `${problems.length} problems`;
  return `${lines.join("\n")}\n${count}\n`;
}
