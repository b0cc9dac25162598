/**
 * A directory, compared file by file with a list: edited, missing, extra, changed in kind or mode.
 *
 * @module
 */

import { hex } from "../core/ids.ts";
import { within } from "../host/paths.ts";
import type { GenerationPorts } from "./ports.ts";

/** What is not as the list says. */
export interface Difference {
  /** Relative, with `/`. */
  readonly path: string;
  readonly state:
    | "missing"
    | "extra"
    | "differs"
    | "not_a_file"
    | "executable"
    | "not_executable"
    | "unreadable";
}

/** One file of the list. */
export interface ListedFile {
  readonly path: string;
  readonly size: number;
  readonly sha256: string;
  readonly executable: boolean;
}

/** Directories deeper than this are extra. */
const MOST_DEPTH = 64;

/**
 * Every difference, by path. Links are named and never followed. `keepsModes` is false where the
 * platform has no such bit: a file then is never `not_executable`.
 */
export async function compareTree(
  { files, directories, sha256 }: GenerationPorts,
  root: string,
  listed: readonly ListedFile[],
  keepsModes = true,
): Promise<readonly Difference[]> {
  const expected = new Map(listed.map((file) => [file.path, file]));
  const most = listed.length * 2 + 64;
  const differences: Difference[] = [];
  const seen = new Set<string>();
  const look = async (file: ListedFile, executable: boolean): Promise<void> => {
    const { path, size } = file;
    if (executable && !file.executable) differences.push({ path, state: "executable" });
    if (!executable && file.executable && keepsModes) {
      differences.push({ path, state: "not_executable" });
    }
    const read = await files.readBounded(within(root, path), size);
    const state = read.kind === "ok"
      ? hex(sha256(read.bytes)) === file.sha256 ? null : "differs"
      : read.kind === "absent"
      ? "missing"
      : read.code === "file_too_large"
      ? "differs" // it grew
      : "unreadable";
    if (state !== null) differences.push({ path, state });
  };
  const visit = async (below: string, depth: number): Promise<void> => {
    const list = await directories.list(below === "" ? root : within(root, below), most);
    if (list.kind === "refused") {
      differences.push({ path: below, state: "unreadable" });
      return;
    }
    const entries = list.kind === "ok" ? list.entries : [];
    // A directory is there for its files.
    if (entries.length === 0 && below !== "") differences.push({ path: below, state: "extra" });
    for (const { name, kind, executable } of entries) {
      const path = below === "" ? name : `${below}/${name}`;
      if (kind === "directory" && depth < MOST_DEPTH) {
        await visit(path, depth + 1);
        continue;
      }
      seen.add(path);
      const file = expected.get(path);
      if (file === undefined) differences.push({ path, state: "extra" });
      else if (kind !== "file") differences.push({ path, state: "not_a_file" });
      else await look(file, executable);
    }
  };
  await visit("", 0);
  for (const path of expected.keys()) {
    if (!seen.has(path)) differences.push({ path, state: "missing" });
  }
  return differences.sort((left, right) => left.path < right.path ? -1 : 1);
}
