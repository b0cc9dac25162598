/**
 * Every file below the configuration folders, by name and digest; never a byte of it.
 *
 *     folder ──list, bounded──> names ──open, read, hash──> present | refused
 *                                 └── closed to group and others, no .toml: a secret, not hashed
 *
 * The digest of a short secret would tell the secret to whoever tries all of them. So what only its
 * owner may read is named and not hashed, unless it is TOML: configuration holds no secrets.
 *
 * @module
 */

import type { Json } from "../../../lib/core/canonical_json.ts";
import type { Directories } from "../../../lib/core/directories.ts";
import { hex } from "../../../lib/core/ids.ts";
import type { ReadPlainFile } from "../../../lib/core/plain_file.ts";
import { sha256 } from "../../../lib/host/digest.ts";
import { within } from "../../../lib/host/paths.ts";

/** Files of all folders together that are told of. */
export const MOST_FILES = 512;
const MOST_ENTRIES = 4096;
const MOST_DEPTH = 4;
const MOST_FILE_BYTES = 2 * 1024 * 1024;
/** Bytes of all files together that are hashed. */
const MOST_BYTES = 32 * 1024 * 1024;

/** Where is looked. */
export interface InstalledPlaces {
  /** Folders, as resolved from agent.toml. */
  readonly roots: readonly string[];
  /** Absolute paths of files that this host made for itself: named, and nobody's drift. */
  readonly own: readonly string[];
  /** Folders that are not looked into: the agent's state. */
  readonly except: readonly string[];
  readonly read: ReadPlainFile;
  readonly directories: Directories;
}

/** One file. */
export interface InstalledFile {
  readonly [key: string]: Json;
  readonly root: string;
  /** Below the root, with `/`. */
  readonly name: string;
  readonly state: "present" | "refused";
  /** This host made it for itself: clients, tokens, what only its owner may read. */
  readonly own: boolean;
  /** In bytes. */
  readonly size: number | null;
  /** Of the bytes, lower-case hex; null with a code that says why. */
  readonly sha256: string | null;
  readonly code: string | null;
}

/** What was found, and how much of it was left out. */
export interface InstalledFiles {
  readonly files: readonly InstalledFile[];
  /** At least so many files or folders were not looked at. */
  readonly leftOut: number;
}

/** Looks through every folder. */
export async function lookAtInstalled(
  places: InstalledPlaces,
  signal: AbortSignal,
): Promise<InstalledFiles> {
  const files: InstalledFile[] = [];
  let leftOut = 0;
  let bytesLeft = MOST_BYTES;
  const refused = (root: string, name: string, code: string) => {
    if (files.length >= MOST_FILES) leftOut++;
    else files.push({ ...NOTHING, root, name, state: "refused", own: false, code });
  };
  const visit = async (root: string, below: string, depth: number): Promise<void> => {
    signal.throwIfAborted();
    const folder = below === "" ? root : within(root, below);
    if (places.except.includes(folder)) return;
    const list = await places.directories.list(folder, MOST_ENTRIES);
    if (list.kind === "refused") {
      leftOut++;
      return refused(root, below === "" ? "." : below, list.code);
    }
    for (const entry of list.kind === "ok" ? list.entries : []) {
      const name = below === "" ? entry.name : `${below}/${entry.name}`;
      if (entry.kind === "directory") {
        if (depth < MOST_DEPTH) await visit(root, name, depth + 1);
        else leftOut++;
      } else if (files.length >= MOST_FILES) leftOut++;
      else if (entry.kind === "link") refused(root, name, "file_is_link");
      else if (entry.kind !== "file") refused(root, name, "file_not_regular");
      else {
        const file = await lookAt(places, root, folder, entry.name, name, bytesLeft);
        bytesLeft -= file.sha256 === null ? 0 : file.size ?? 0;
        files.push(file);
      }
    }
  };
  for (const root of places.roots) await visit(root, "", 0);
  return { files, leftOut };
}

const NOTHING = { size: null, sha256: null } as const;

async function lookAt(
  places: InstalledPlaces,
  root: string,
  folder: string,
  plain: string,
  name: string,
  bytesLeft: number,
): Promise<InstalledFile> {
  const own = places.own.includes(within(folder, plain));
  const about = { ...NOTHING, root, name, own };
  const isToml = plain.endsWith(".toml");
  const read = await places.read(folder, plain, Math.min(MOST_FILE_BYTES, bytesLeft));
  if (read.kind === "absent") return { ...about, state: "refused", code: "file_changed" };
  if (read.kind === "refused") {
    const code = read.code === "file_too_large" && bytesLeft < MOST_FILE_BYTES
      ? "digest_bound"
      : read.code;
    return { ...about, state: "refused", code };
  }
  const { size, mode } = read.facts;
  const isPrivate = mode === null || (mode & 0o077) === 0;
  if (isPrivate && !isToml) {
    return { ...about, own: true, state: "present", size, code: "digest_withheld" };
  }
  return { ...about, state: "present", size, sha256: hex(sha256(read.bytes)), code: null };
}
