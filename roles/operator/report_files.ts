/**
 * Reports as dated files: written whole, never over another, and only so many are kept.
 *
 *     <dir>/2026-11-29T203000Z-status.json   what a program reads: the envelope, and when and by whom
 *           2026-11-29T203000Z-status.txt    what a person reads
 *           .lock                            one command writes here at a time
 *
 * @module
 */

import { timestamp } from "../../lib/core/clock.ts";
import { type Refusal, refuse } from "../../lib/core/refusal.ts";
import { within } from "../../lib/host/paths.ts";
import type { HomePorts } from "../../lib/home/ports.ts";

/** What can be reported. */
export const REPORT_KINDS = ["status", "drift", "capability", "serves"] as const;
/** One of {@link REPORT_KINDS}. */
export type ReportKind = (typeof REPORT_KINDS)[number];

/** One report, as texts. */
export interface Report {
  readonly kind: ReportKind;
  readonly json: string;
  readonly text: string;
}

const MOST_ENTRIES = 100_000;
const FILE = /^(\d{4}-\d\d-\d\dT\d{6}Z)-([a-z]+)\.(json|txt)$/;
/** A second that is taken is waited out, so many times. */
const MOST_WAITS = 5;

/** A moment as it stands in a file's name: `2026-11-29T203000Z`. */
export function stampOf(now: number): string {
  return timestamp(now).replace(/\.\d+Z$/, "Z").replaceAll(":", "");
}

/** Names of files that are beyond the newest `keep` of their kind; nothing else is ever named. */
export function staleNames(names: readonly string[], keep: number): readonly string[] {
  const stamps = new Map<string, Set<string>>();
  const parsed = names.flatMap((name) => {
    const [, stamp = "", kind = ""] = FILE.exec(name) ?? [];
    if (!REPORT_KINDS.some((one) => one === kind)) return [];
    const all = stamps.get(kind) ?? new Set();
    stamps.set(kind, all.add(stamp));
    return [{ name, stamp, kind }];
  });
  const kept = new Map(
    [...stamps].map(([kind, all]) => [kind, new Set([...all].sort().slice(-keep))]),
  );
  return parsed.filter(({ stamp, kind }) => kept.get(kind)?.has(stamp) === false)
    .map(({ name }) => name);
}

/** What writing needs. */
export interface ReportPorts
  extends Pick<HomePorts, "files" | "directories" | "tryLock" | "clock"> {
  /** Removes these files of a folder; one that is not there is fine. */
  readonly removeFiles: (path: string, names: readonly string[]) => Promise<Refusal | null>;
}

/** Writes `reports` under one stamp that none of them has yet, then lets go of old ones. */
export async function writeReports(
  { files, directories, tryLock, clock, removeFiles }: ReportPorts,
  dir: string,
  reports: readonly Report[],
  keep: number,
): Promise<{ readonly kind: "written"; readonly names: readonly string[] } | Refusal> {
  const made = await directories.make(dir);
  if (made.kind === "refused") return made;
  const lock = await tryLock(within(dir, ".lock"));
  if (lock.kind === "refused") return lock;
  if (lock.kind === "busy") {
    return refuse("report_busy", "another command writes reports there", "let it end");
  }
  try {
    for (let waits = 0;; waits++) {
      const list = await directories.list(dir, MOST_ENTRIES);
      if (list.kind === "refused") return list;
      const there = list.kind === "ok" ? list.entries.map(({ name }) => name) : [];
      const stamp = stampOf(clock.now());
      const names = reports.map(({ kind }) => `${stamp}-${kind}`);
      if (there.some((name) => names.includes(name.replace(/\.(json|txt)$/, "")))) {
        if (waits === MOST_WAITS) {
          return refuse("report_exists", `there is a report of ${stamp} already`, "try again");
        }
        await clock.sleep(1000, new AbortController().signal);
        continue;
      }
      const written: string[] = [];
      for (const [at, { json, text }] of reports.entries()) {
        for (const [end, content] of [["txt", text], ["json", json]] as const) {
          const name = `${names[at]}.${end}`;
          const bytes = new TextEncoder().encode(content);
          const put = await files.replaceFile(within(dir, name), bytes, 0o640);
          if (put.kind === "refused") return put;
          written.push(name);
        }
      }
      // Only after the new ones are on the disk: a full one leaves what was there.
      const removed = await removeFiles(dir, staleNames([...there, ...written], keep));
      if (removed !== null) return removed;
      return { kind: "written", names: written };
    }
  } finally {
    await lock.release();
  }
}
