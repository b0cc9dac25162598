/**
 * Switches of `current`: each is written to the history before it is made, and `current` says which
 * of them were made. So a crash between the two leaves a line that never came to be, and no doubt.
 *
 *     current.seq = 5 ── line 5: from 3 ── line 3: from null        line 4 was never made
 *
 * @module
 */

import * as z from "zod";
import { decodeLines } from "../core/json_lines.ts";
import { currentPath, historyPath } from "./layout.ts";
import { type HomePorts, type HomeRefusal, homeRefusal, ofDisk } from "./ports.ts";
import { digestShape, parseJson } from "./receipt.ts";

/** One switch, and the content of `current` after it. */
export const switchShape = z.strictObject({
  schema: z.literal(1),
  /** Counts attempts, from 1. */
  seq: z.int().min(1),
  /** The switch before; null for the first. */
  from: z.int().min(1).nullable(),
  action: z.enum(["materialize", "rollback"]),
  digest: digestShape,
  commit: z.string(),
  at: z.iso.datetime(),
  by: z.string(),
});

/** A switch. */
export type Switch = z.infer<typeof switchShape>;

const MOST_CURRENT_BYTES = 64 * 1024;
const MOST_HISTORY_BYTES = 64 * 1024 * 1024;

/** What `current` says; null when nothing was materialised yet. */
export async function readCurrent(
  { files }: Pick<HomePorts, "files">,
  home: string,
): Promise<Switch | null | HomeRefusal> {
  const read = await files.readBounded(currentPath(home), MOST_CURRENT_BYTES);
  if (read.kind === "absent") return null;
  if (read.kind === "refused" && read.code === "file_unreadable") {
    return ofDisk(read, "read current");
  }
  const current = read.kind === "ok" ? parseJson(switchShape, read.bytes) : null;
  return current ??
    homeRefusal("current_damaged", "`current` does not say which generation is live", {
      nextStep: "see `home history`; `home rollback --to DIGEST` writes it anew",
    });
}

/** Every switch that was written down, made or not, oldest first. */
export async function readHistory(
  { files }: Pick<HomePorts, "files">,
  home: string,
): Promise<readonly Switch[] | HomeRefusal> {
  const read = await files.readBounded(historyPath(home), MOST_HISTORY_BYTES);
  if (read.kind === "absent") return [];
  if (read.kind === "refused") return ofDisk(read, "read the history");
  const damaged = () =>
    homeRefusal("history_damaged", "a line of the history is not what was written", {
      nextStep: "keep a copy of history.jsonl, then mend or remove that line by hand",
    });
  try {
    const switches: Switch[] = [];
    for (const value of decodeLines(read.bytes).values) {
      const one = switchShape.safeParse(value);
      if (!one.success) return damaged();
      switches.push(one.data);
    }
    return switches;
  } catch {
    return damaged();
  }
}

/** The switches that were made, newest first, by the word of `current`. */
export function made(switches: readonly Switch[], current: Switch | null): readonly Switch[] {
  const bySeq = new Map(switches.map((one) => [one.seq, one]));
  const chain: Switch[] = [];
  let next: Switch | undefined = current ?? undefined;
  while (next !== undefined && chain.length <= switches.length) {
    chain.push(next);
    next = next.from === null ? undefined : bySeq.get(next.from);
  }
  return chain;
}

/** The first number no attempt had. */
export function nextSeq(switches: readonly Switch[], current: Switch | null): number {
  return 1 + Math.max(0, current?.seq ?? 0, ...switches.slice(-1000).map(({ seq }) => seq));
}
