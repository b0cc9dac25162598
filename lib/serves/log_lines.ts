/**
 * Lines out of what a runtime keeps of an engine's output, bounded.
 *
 * @module
 */

import type { LogBounds, Logs } from "./driver.ts";

/** Characters of one line that are kept. */
const MOST_LINE = 4096;

/** The last lines of `text` within `bounds`; `cut`: there was more before. */
export function lastLines(text: string, bounds: LogBounds, cut = false): Logs {
  const all = text.split("\n").map((line) => clean(line.replace(/\r$/, "")));
  if (all.at(-1) === "") all.pop();
  const kept: string[] = [];
  let size = 0;
  for (let at = all.length - 1; at >= 0 && kept.length < bounds.lines; at--) {
    const line = all[at] ?? "";
    size += line.length + 1;
    if (size > bounds.bytes && kept.length > 0) break;
    kept.push(line.length > bounds.bytes ? line.slice(0, bounds.bytes) : line);
  }
  return { kind: "logs", lines: kept.reverse(), truncated: cut || kept.length < all.length };
}

/** A line that a terminal can show: no control characters, bounded. */
function clean(line: string): string {
  return line.replace(/\p{Cc}\[[0-9;?]*[A-Za-z]|[^\P{Cc}\t]/gu, "").slice(0, MOST_LINE);
}
