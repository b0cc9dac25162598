/**
 * What a commit may hold to become a home: plain files of moderate size, under names that mean the
 * same on every file system.
 *
 * @module
 */

import { findCollisions, pathFault, printable } from "../generation/path_rules.ts";
import type { FileProblem } from "./ports.ts";

/** One entry of a git tree, as `ls-tree -r -l` lists it. */
export interface TreeEntry {
  readonly mode: string;
  readonly type: string;
  readonly object: string;
  /** Bytes; null for what is no blob. */
  readonly size: number | null;
  readonly path: string;
}

/** Most files of a set. */
export const MOST_FILES = 2000;
/** Most bytes of one file. */
export const MOST_FILE_BYTES = 2 * 1024 * 1024;
/** Most bytes of all files. */
export const MOST_BYTES = 32 * 1024 * 1024;

/** What each mode of git is, where it is not a plain file. */
const REFUSED_MODES: Readonly<Record<string, readonly [code: string, message: string]>> = {
  "100755": [
    "file_executable",
    "has the executable bit: a home holds data; `git update-index --chmod=-x`",
  ],
  "120000": ["file_is_link", "is a symbolic link: put the file itself there"],
  "160000": ["submodule", "is a submodule: put its files there"],
};

/** Every problem of a tree. */
export function findTreeProblems(entries: readonly TreeEntry[]): readonly FileProblem[] {
  return [...entries.flatMap(entryProblems), ...collisions(entries)];
}

function entryProblems({ mode, type, size, path }: TreeEntry): FileProblem[] {
  const problems: FileProblem[] = [];
  const report = (code: string, message: string) =>
    problems.push({ file: printable(path), path: "$", code, message });
  const refused = REFUSED_MODES[mode];
  if (refused !== undefined) report(...refused);
  else if (mode !== "100644" || type !== "blob") {
    report("mode_unknown", `has the mode ${mode}; expected a plain file, 100644`);
  }
  if (size !== null && size > MOST_FILE_BYTES) {
    report("file_too_large", `${size} bytes, of at most ${MOST_FILE_BYTES}`);
  }
  const name = pathFault(path);
  if (name !== null) report("path_unsafe", name);
  return problems;
}

function collisions(entries: readonly TreeEntry[]): FileProblem[] {
  return findCollisions(entries.map(({ path }) => path)).map(({ path, first }) => ({
    file: printable(path),
    path: "$",
    code: "path_collision",
    message: `is the same as ${printable(first)} where case is not kept apart`,
  }));
}
