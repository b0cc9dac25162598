/**
 * Looking again and again, until a stop signal.
 *
 * @module
 */

import type { ProgramContext } from "../../lib/terminal/program.ts";
import { seconds } from "./dispatch_flags.ts";
import type { Operator } from "./operator.ts";

/** `--watch`. */
export const WATCH_FLAG = {
  kind: "parsed",
  parse: seconds,
  optional: true,
  brief: "Look again every S seconds, until Ctrl-C",
  placeholder: "S",
} as const;

/** To the upper left corner, and everything away. */
const CLEAR = "\x1b[H\x1b[2J";

/**
 * Calls `look` once, or every `every` seconds. What a look prints replaces the one before on a
 * terminal, and follows it in a pipe: each prints its own whole.
 */
export async function watched(
  { terminal }: ProgramContext,
  { dispatch, ports }: Operator,
  { every, json }: { readonly every: number | undefined; readonly json: boolean },
  look: () => Promise<void>,
): Promise<void> {
  if (every === undefined) return await look();
  const stop = new AbortController();
  const ignore = dispatch.onStop(() => stop.abort());
  try {
    while (!stop.signal.aborted) {
      const begun = ports.clock.monotonic();
      if (!json && terminal.isTerminal) terminal.out(CLEAR);
      await look();
      const left = Math.max(0, every * 1000 - (ports.clock.monotonic() - begun));
      await ports.clock.sleep(left, stop.signal).catch(() => {});
    }
  } finally {
    ignore();
  }
}
