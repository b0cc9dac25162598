/**
 * Reads what `deno test` said at its end, and writes what make says at its end.
 *
 * @module
 */

/** How a run of tests went. Tests are counted, steps are not. */
export interface Tally {
  readonly passed: number;
  readonly failed: number;
  readonly skipped: number;
}

/** How `deno test` ended. */
export interface Ending {
  /** Its whole stdout, or the end of it. */
  readonly output: string;
  readonly exitCode: number;
}

/** The tally, and a remark when the summary and the exit code do not agree. */
export function tallyOf(ending: Ending): Tally & { readonly remark?: string } {
  const summary = lastSummary(ending.output);
  if (summary === null) {
    const remark = `deno test ended with code ${ending.exitCode} and no summary`;
    return { passed: 0, failed: 1, skipped: 0, remark };
  }
  if (ending.exitCode !== 0 && summary.failed === 0) {
    const remark = `deno test ended with code ${ending.exitCode} though no test failed`;
    return { ...summary, failed: 1, remark };
  }
  return summary;
}

/** The files whose tests failed, each once, as `deno test` names them in its output. */
export function failedFiles(output: string): string[] {
  const files = new Set<string>();
  let running: string | null = null;
  for (const line of output.replaceAll(COLOUR, "").split(/\r?\n/)) {
    running = /^running \d+ tests? from (\S+)$/.exec(line)?.[1] ?? running;
    if (!/ \.\.\. FAILED( \(|$)/.test(line)) continue;
    const file = /(?:^|\.\.\.)(\.\/\S+) => /.exec(line)?.[1] ?? running;
    if (file !== null) files.add(file);
  }
  return [...files];
}

/** The line that ends a suite's output. `.ci/run` reads it. */
export function tallyLine(label: string, { passed, failed, skipped }: Tally): string {
  return `${label}: ${passed} passed, ${failed} failed, ${skipped} skipped`;
}

/** The last line such as `ok | 3 passed (1 step) | 0 failed | 1 ignored (12ms)`; null without one. */
function lastSummary(output: string): Tally | null {
  const lines = output.replaceAll(COLOUR, "").split(/\r?\n/);
  const line = lines.findLast((one) => /^(ok|FAILED) \| \d+ passed\b.*\| \d+ failed\b/.test(one));
  if (line === undefined) return null;
  const count = (word: string): number =>
    Number(new RegExp(`\\| (\\d+) ${word}\\b`).exec(line)?.[1] ?? 0);
  return { passed: count("passed"), failed: count("failed"), skipped: count("ignored") };
}

/** Colour codes, which some settings force even into a pipe. */
const COLOUR = new RegExp(`${String.fromCharCode(27)}\\[[0-9;]*m`, "g");
