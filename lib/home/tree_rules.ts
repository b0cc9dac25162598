/**
 * What a commit may hold to become a home: plain files of moderate size, under names that mean the
 * same on every file system.
 *
 * @module
 */

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

/** Names Windows keeps for devices. */
const DEVICE = /^(con|prn|aux|nul|com[0-9]|lpt[0-9])(\..*)?$/i;

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
  const name = nameFault(path);
  if (name !== null) report("path_unsafe", name);
  return problems;
}

function nameFault(path: string): string | null {
  if (!path.isWellFormed() || path.includes("\ufffd")) return "the name is not UTF-8";
  if (new TextEncoder().encode(path).length > 1024) return "the path is longer than 1024 bytes";
  for (const part of path.split("/")) {
    if (part === "" || part === "." || part === "..") return "the path leaves its directory";
    if (part.toLowerCase() === ".git") return "a part of the path is called .git";
    if (new TextEncoder().encode(part).length > 200) return "a name is longer than 200 bytes";
    if (/[\\:*?"<>|]|\p{C}/u.test(part)) return "a name holds a character that some systems refuse";
    if (/[. ]$/.test(part) || DEVICE.test(part)) return "a name means something else on Windows";
    if (/^\..*\.tmp$/.test(part)) return "a name looks like an unfinished file of ours";
  }
  return null;
}

/** Two paths, or directories above them, that are one where case or accents are not kept apart. */
function collisions(entries: readonly TreeEntry[]): FileProblem[] {
  const spellings = new Map<string, string>();
  const problems: FileProblem[] = [];
  for (const { path } of entries) {
    const parts = path.split("/");
    for (let end = 1; end <= parts.length; end++) {
      const spelled = parts.slice(0, end).join("/");
      const folded = spelled.normalize("NFC").toLowerCase();
      const first = spellings.get(folded);
      if (first === undefined) spellings.set(folded, spelled);
      else if (first !== spelled || end === parts.length) {
        problems.push({
          file: printable(path),
          path: "$",
          code: "path_collision",
          message: `is the same as ${printable(first)} where case is not kept apart`,
        });
        break;
      }
    }
  }
  return problems;
}

/** A name from a tree may hold anything, terminal sequences too. */
export function printable(path: string): string {
  return /^[\x20-\x7e]*$/.test(path) ? path : JSON.stringify(path).replaceAll(
    /[^\x20-\x7e]/g,
    (letter) => `\\u${letter.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );
}
