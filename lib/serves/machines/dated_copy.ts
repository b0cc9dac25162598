/**
 * Dated copies of a file that is about to be replaced: a folder each, the oldest let go.
 *
 *     <state>/backups/router.toml/20261129T233735123Z-4f3c2b1a0987/router.toml
 *
 * @module
 */

import { type Clock, timestamp } from "../../core/clock.ts";
import type { Directories } from "../../core/directories.ts";
import type { Files } from "../../core/files.ts";
import { hex } from "../../core/ids.ts";
import { type Refusal, refuse } from "../../core/refusal.ts";
import { sha256 } from "../../host/digest.ts";
import { within } from "../../host/paths.ts";

/** Copies of one file that are kept. */
export const KEPT_COPIES = 32;
const MOST_COPIES = 10_000;

/** What copies are made with. */
export interface CopyPorts {
  readonly clock: Clock;
  readonly files: Files;
  readonly directories: Directories;
  /** The folder of all copies. */
  readonly root: string;
}

/**
 * Keeps `text`, what `file` holds now. The newest copy, when it holds that already, is as good: a
 * step that is performed twice keeps one.
 */
export async function keepCopy(
  { clock, files, directories, root }: CopyPorts,
  file: string,
  text: string,
): Promise<{ readonly kind: "kept"; readonly name: string } | Refusal> {
  const own = within(root, file);
  const digest = hex(sha256(text)).slice(0, 12);
  const list = await directories.list(own, MOST_COPIES);
  if (list.kind === "refused") return unkept(list);
  const names = list.kind === "ok"
    ? list.entries.filter(({ kind }) => kind === "directory").map(({ name }) => name)
    : [];
  const newest = names.at(-1);
  if (newest?.endsWith(`-${digest}`)) {
    const read = await files.readBounded(within(within(own, newest), file), text.length * 4 + 64);
    if (read.kind === "ok" && hex(sha256(read.bytes)) === hex(sha256(text))) {
      return { kind: "kept", name: newest };
    }
  }
  const name = `${timestamp(clock.now()).replaceAll(/[-:.]/g, "")}-${digest}`;
  const folder = within(own, name);
  const made = await directories.make(folder);
  if (made.kind === "refused") return unkept(made);
  const bytes = new TextEncoder().encode(text);
  const written = await files.replaceFile(within(folder, file), bytes, 0o600);
  if (written.kind === "refused") return unkept(written);
  for (const old of names.slice(0, Math.max(0, names.length + 1 - KEPT_COPIES))) {
    await directories.remove(within(own, old));
  }
  return { kind: "kept", name };
}

/** One copy that is there. */
export interface DatedCopy {
  readonly name: string;
  /** When it was made, ISO 8601 in UTC. */
  readonly at: string;
  /** In bytes; null, with a code, when it cannot be read. */
  readonly size: number | null;
  /** Of the bytes, lower-case hex; null with a code. */
  readonly sha256: string | null;
  /** Why it is not worth what its name says; null when it is. */
  readonly code: "backup_unfinished" | "backup_unreadable" | "backup_damaged" | null;
}

/** A text of 900 000 characters, each of which may be four bytes. */
const MOST_COPY_BYTES = 4 * 1024 * 1024;

/** The copies of `file`, newest first, each read and held against the digest in its name. */
export async function listCopies(
  { files, directories, root }: Omit<CopyPorts, "clock">,
  file: string,
  signal: AbortSignal,
): Promise<{ readonly kind: "listed"; readonly copies: readonly DatedCopy[] } | Refusal> {
  const own = within(root, file);
  const list = await directories.list(own, MOST_COPIES);
  if (list.kind === "refused") {
    return refuse(
      "backups_unreadable",
      `the copies of ${file} cannot be listed: ${list.detail}`,
      "see to the permissions of the agent's state folder",
    );
  }
  const names = list.kind === "ok"
    ? list.entries.filter(({ kind }) => kind === "directory").map(({ name }) => name)
    : [];
  const copies: DatedCopy[] = [];
  for (const name of names.toSorted().toReversed()) {
    signal.throwIfAborted();
    const [, stamp, digest] = /^(\d{8}T\d{9}Z)-([0-9a-f]{12})$/.exec(name) ?? [];
    if (stamp === undefined || digest === undefined) continue; // nobody's copy
    const about = { name, at: timeOf(stamp) };
    const read = await files.readBounded(within(within(own, name), file), MOST_COPY_BYTES);
    if (read.kind !== "ok") {
      // A crash between the folder and the file in it leaves none: nothing was replaced then.
      const code = read.kind === "absent" ? "backup_unfinished" : "backup_unreadable";
      copies.push({ ...about, size: null, sha256: null, code });
      continue;
    }
    const whole = hex(sha256(read.bytes));
    const code = whole.startsWith(digest) ? null : "backup_damaged";
    copies.push({ ...about, size: read.bytes.length, sha256: whole, code });
  }
  return { kind: "listed", copies };
}

/** `20261129T233735123Z` as `2026-11-29T23:37:35.123Z`. */
function timeOf(stamp: string): string {
  return stamp.replace(/^(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)(\d{3})Z$/, "$1-$2-$3T$4:$5:$6.$7Z");
}

function unkept({ detail }: Refusal): Refusal {
  return refuse(
    "backup_not_kept",
    `what stands there now could not be copied aside: ${detail}`,
    "see to space and permissions of the agent's state folder; nothing was replaced",
  );
}
