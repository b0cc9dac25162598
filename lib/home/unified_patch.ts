/**
 * What changes a file, as a unified patch that `git apply` takes.
 *
 * @module
 */

import { applyPatch, createTwoFilesPatch, FILE_HEADERS_ONLY } from "diff";

/** Beyond so many changed lines the whole file is shown as replaced: no patch takes minutes. */
const MOST_EDITS = 4000;

/** The patch that makes `after` of `before`, both the text of the file at `path`. */
export function unifiedPatch(path: string, before: string, after: string): string {
  const made = createTwoFilesPatch(`a/${path}`, `b/${path}`, before, after, undefined, undefined, {
    context: 3,
    maxEditLength: MOST_EDITS,
    headerOptions: FILE_HEADERS_ONLY,
  });
  const patch = made ?? wholePatch(path, before, after);
  if (applyPatch(before, patch, { autoConvertLineEndings: false }) !== after) {
    throw new Error("a patch does not make of the one text what the other is");
  }
  return patch;
}

/** Lines that a patch adds and takes away. */
export function countPatch(patch: string): { readonly added: number; readonly removed: number } {
  const lines = patch.split("\n").slice(2);
  const count = (sign: string) => lines.filter((line) => line.startsWith(sign)).length;
  return { added: count("+"), removed: count("-") };
}

function wholePatch(path: string, before: string, after: string): string {
  const [old, fresh] = [linesOf(before), linesOf(after)];
  const range = (lines: readonly string[]) => `${lines.length === 0 ? 0 : 1},${lines.length}`;
  const marked = (sign: string, lines: readonly string[], text: string) =>
    lines.map((line) => `${sign}${line}\n`).join("") +
    (text !== "" && !text.endsWith("\n") ? "\\ No newline at end of file\n" : "");
  const header = createTwoFilesPatch(`a/${path}`, `b/${path}`, "", "", undefined, undefined, {
    headerOptions: FILE_HEADERS_ONLY,
  });
  return `${header}@@ -${range(old)} +${range(fresh)} @@\n` +
    marked("-", old, before) + marked("+", fresh, after);
}

function linesOf(text: string): readonly string[] {
  return text === "" ? [] : text.replace(/\n$/, "").split("\n");
}
