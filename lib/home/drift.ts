/**
 * Two sets of files side by side. Reported, never mended.
 *
 * @module
 */

import { pathOf } from "../core/problem.ts";
import { readToml } from "../document/toml.ts";
import { textOf } from "./check_set.ts";
import type { ExportedFile } from "./export_commit.ts";

/** How an installed file stands to the one that should be there. */
export interface Drift {
  readonly path: string;
  /** `extra`: installed and in no set. `unreadable`: there, and not to be looked into. */
  readonly state: "identical" | "differs" | "missing" | "extra" | "unreadable";
  /** For `differs` in TOML: the keys that differ; `$` where only the formatting does. */
  readonly keys: readonly string[];
}

/** What is installed under a name: bytes, or that they cannot be read. */
export type Installed = ReadonlyMap<string, Uint8Array | "unreadable">;

/** Most keys that are listed for one file. */
const MOST_KEYS = 50;

/** Compares what is installed with what should be, by path in ascending order. */
export function findDrift(
  expected: readonly ExportedFile[],
  installed: Installed,
): readonly Drift[] {
  const wanted = new Map(expected.map(({ path, bytes }) => [path, bytes]));
  const paths = [...new Set([...wanted.keys(), ...installed.keys()])].sort();
  return paths.map((path) => {
    const want = wanted.get(path);
    const have = installed.get(path);
    if (have === "unreadable") return { path, state: "unreadable", keys: [] };
    if (want === undefined) return { path, state: "extra", keys: [] };
    if (have === undefined) return { path, state: "missing", keys: [] };
    if (sameBytes(want, have)) return { path, state: "identical", keys: [] };
    return {
      path,
      state: "differs",
      keys: path.endsWith(".toml") ? differingKeys(want, have) : [],
    };
  });
}

/** The keys in which two TOML texts differ; `$` alone when they say the same, or one is not TOML. */
export function differingKeys(left: Uint8Array, right: Uint8Array): readonly string[] {
  const [first, second] = [left, right].map((bytes) => readToml(textOf(bytes) ?? "\0"));
  if (first?.kind !== "ok" || second?.kind !== "ok") return ["$"];
  const keys: string[] = [];
  const visit = (a: unknown, b: unknown, path: readonly PropertyKey[]) => {
    if (keys.length > MOST_KEYS) return;
    if (isNested(a) && isNested(b) && Array.isArray(a) === Array.isArray(b)) {
      for (const key of new Set([...Object.keys(a), ...Object.keys(b)])) {
        visit(a[key], b[key], [...path, Array.isArray(a) ? Number(key) : key]);
      }
    } else if (!isSame(a, b)) keys.push(pathOf(path));
  };
  visit(first.model, second.model, []);
  return keys.length === 0 ? ["$"] : keys.slice(0, MOST_KEYS);
}

function isSame(a: unknown, b: unknown): boolean {
  return a instanceof Date && b instanceof Date ? a.toString() === b.toString() : Object.is(a, b);
}

function isNested(value: unknown): value is { readonly [key: string]: unknown } {
  return typeof value === "object" && value !== null && !(value instanceof Date);
}

function sameBytes(left: Uint8Array, right: Uint8Array): boolean {
  return left.length === right.length && left.every((byte, index) => byte === right[index]);
}
