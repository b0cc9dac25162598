/**
 * What `stat` tells of paths: the same words on Linux and macOS, asked for in different ways.
 *
 * @module
 */

import type { PathKind } from "./os_facts.ts";

/** Lines of `stat`: the mode in hexadecimal, a blank, the name. What is not told is not there. */
export function readStat(text: string, paths: readonly string[]): ReadonlyMap<string, PathKind> {
  const modes = new Map(
    text.split("\n").map((line) => [line.slice(line.indexOf(" ") + 1), line.split(" ")[0] ?? ""]),
  );
  return new Map(paths.map((path) => {
    const written = modes.get(path);
    const mode = written === undefined ? null : Number.parseInt(written, 16);
    return [path, mode === null ? "absent" : kindOf(mode)] as const;
  }));
}

function kindOf(mode: number): PathKind {
  const type = mode & 0xf000;
  if (type === 0x4000) return "directory";
  if (type !== 0x8000) return "other";
  return (mode & 0o111) === 0 ? "file" : "program";
}
