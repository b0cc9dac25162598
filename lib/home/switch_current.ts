/**
 * Makes a generation the live one: a line in the history, then `current` in one replace.
 *
 * @module
 */

import { timestamp } from "../core/clock.ts";
import { causeOf, codeOf, isNoSpace } from "../host/os_error.ts";
import { nextSeq, readHistory, type Switch, switchShape } from "./history.ts";
import { currentPath, historyPath } from "./layout.ts";
import { type HomePorts, type HomeRefusal, homeRefusal, ofDisk } from "./ports.ts";
import type { Receipt } from "./receipt.ts";

/** Which generation, and why. */
export interface SwitchAsk {
  readonly action: Switch["action"];
  readonly receipt: Receipt;
  readonly by: string;
  /** What is live now. */
  readonly current: Switch | null;
}

/** Switches. The caller holds the lock. */
export async function switchCurrent(
  ports: HomePorts,
  home: string,
  { action, receipt, by, current }: SwitchAsk,
): Promise<Switch | HomeRefusal> {
  const opened = await ports.openJournal(
    historyPath(home),
    (value) => switchShape.safeParse(value).data ?? null,
  );
  if (opened.kind === "busy") return homeRefusal("home_busy", "another command writes the history");
  if (opened.kind === "refused") return ofDisk(opened, "open the history");
  await using journal = opened.journal;
  const history = await readHistory(ports, home);
  if ("kind" in history) return history;
  const next: Switch = {
    schema: 1,
    seq: nextSeq(history, current),
    from: current?.seq ?? null,
    action,
    digest: receipt.digest,
    commit: receipt.commit,
    at: timestamp(ports.clock.now()),
    by,
  };
  try {
    await journal.append(next);
  } catch (error) {
    // The line is not there, or nobody knows: `current` decides, and it was not touched.
    const code = codeOf(error);
    if (!/^E[A-Z]+$/.test(code)) throw error;
    return homeRefusal(
      isNoSpace(error) ? "home_no_space" : "home_unusable",
      "the history could not be written; nothing was switched",
      { cause: causeOf(error) },
    );
  }
  const bytes = new TextEncoder().encode(`${JSON.stringify(next)}\n`);
  const replaced = await ports.files.replaceFile(currentPath(home), bytes, 0o600);
  if (replaced.kind === "refused" && replaced.code !== "file_sync_unknown") {
    return ofDisk(replaced, "switch `current`");
  }
  return next;
}
