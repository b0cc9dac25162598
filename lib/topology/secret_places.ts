/**
 * Where a secret stands in the text of a configuration file: line, column and key, never what it is.
 *
 *     lines ──shapes of keys, tokens, headers; long random runs; values known by hash──┐
 *     table ──the same in values as TOML reads them, escapes undone────────────────────┴──> places
 *
 * Names and templates are no secrets: the name of a token store's entry, a path, `${NAME}`.
 *
 * @module
 */

import { SECRET_FIELDS } from "../core/mask.ts";
import { pathOf } from "../core/problem.ts";
import { readToml } from "../document/toml.ts";
import { secretIn, shapeIn } from "./forbidden.ts";
import { looksRandom } from "./random_text.ts";

/** One place. */
export interface SecretPlace {
  /** 1-based; null for a value that no line shows as it is. */
  readonly line: number | null;
  /** 1-based, of the first character. */
  readonly column: number | null;
  /** The key it is the value of, as TOML paths are written; null where no key names it. */
  readonly key: string | null;
  /** What it looks like, in words: `a private key`. */
  readonly what: string;
}

/** True for a value whose hash somebody knows as that of a credential. */
export type IsKnown = (value: string) => boolean;

/** Longer lines are not looked through: whoever shows the text has to refuse them. */
export const MOST_LINE = 8192;
/** Places that are told; one is enough to refuse. */
const MOST_PLACES = 50;

/** Keys whose values are long, random and public. */
const PUBLIC =
  /(^|[_-])(sha256|sha512|digest|revision|commit|fingerprint|topology|uuid|evidence|known_host|(public|trusted)_keys?|hash)$/i;
/** Values that stand for a secret and are none. */
const TEMPLATE =
  /^(\$\{[^{}]*\}|\$[A-Z_][A-Z0-9_]*|\{\{[^{}]*\}\}|<[^<>]*>|env:[A-Z_][A-Z0-9_]*|)$/;
/** The name of an entry in a token store. */
const NAME = /^[a-z][a-z0-9-]{0,62}$/;

/** Every place in `text` where something stands that may not be shown. */
export function findSecretPlaces(
  text: string,
  isKnown: IsKnown = () => false,
): readonly SecretPlace[] {
  const lines = text.split("\n");
  const places: SecretPlace[] = [];
  const report = (place: SecretPlace) => {
    const told = place.line !== null && places.some(({ line }) => line === place.line);
    if (!told && places.length < MOST_PLACES) places.push(place);
  };
  for (const { path, value, name } of valuesOf(text)) {
    const what = faultOfValue(value, name, isKnown);
    if (what !== null) {
      report({ ...placeOf(lines, name, value), key: shownKey("", path), what });
    }
  }
  let table = "";
  let inKeyBlock = false;
  lines.forEach((whole, index) => {
    const line = whole.slice(0, MOST_LINE);
    table = /^\s*\[\[?([^[\]]+)\]\]?/.exec(line)?.[1]?.trim() ?? table;
    const [, word = ""] = /^\s*("[^"]*"|'[^']*'|[A-Za-z0-9_.-]+)\s*=/.exec(line) ?? [];
    const key = word === "" ? null : shownKey(table, word);
    inKeyBlock ||= /-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY/.test(line);
    const found = inKeyBlock
      ? { what: "a private key", column: line.search(/\S/) + 1 }
      : faultOfLine(line, bare(word), isKnown);
    if (/-----END /.test(line)) inKeyBlock = false;
    if (found !== null) report({ line: index + 1, column: found.column, key, what: found.what });
  });
  return places.toSorted((one, other) => (one.line ?? Infinity) - (other.line ?? Infinity));
}

/** A key that may be shown: one that is itself random, or a secret, is not. */
function shownKey(table: string, word: string): string | null {
  const path = table === "" ? word : `${table}.${word}`;
  const harmful = secretIn(path) !== null || path.split(/[."'\s]+/).some(looksRandom);
  return harmful || path.length > 256 ? null : path;
}

function faultOfLine(
  line: string,
  key: string,
  isKnown: IsKnown,
): { readonly what: string; readonly column: number } | null {
  for (const { 0: run, index } of line.matchAll(/[^\s"'`,;(){}[\]<>=#]{8,}/g)) {
    if (isKnown(run)) return { what: "a credential that is known here", column: index + 1 };
  }
  for (const match of line.matchAll(/"((?:[^"\\]|\\.)*)"|'([^']*)'/g)) {
    const value = match[1] ?? match[2] ?? "";
    if (value.length >= 8 && isKnown(value)) {
      return { what: "a credential that is known here", column: match.index + 2 };
    }
  }
  const shape = shapeIn(line);
  if (shape !== null) return { what: shape, column: startOf(line) };
  if (PUBLIC.test(key)) return null;
  for (const { 0: run, index } of line.matchAll(/[A-Za-z0-9+/_=.:@-]{20,}/g)) {
    if (looksRandom(run)) return { what: "a random value", column: index + 1 };
  }
  return null;
}

/** The column of what a shape was found in: behind the `=`, or the first word. */
function startOf(line: string): number {
  const value = /^\s*(?:"[^"]*"|'[^']*'|[A-Za-z0-9_.-]+)\s*=\s*["']*/.exec(line)?.[0].length;
  return (value ?? line.search(/\S/)) + 1;
}

function faultOfValue(value: string, key: string, isKnown: IsKnown): string | null {
  if (value.length >= 8 && isKnown(value)) return "a credential that is known here";
  const shape = secretIn(value);
  if (shape !== null) return shape;
  if (namesSecret(key) && !TEMPLATE.test(value) && !(key === "token" && NAME.test(value))) {
    return `the value of a key that names a secret`;
  }
  return !PUBLIC.test(key) && looksRandom(value) ? "a random value" : null;
}

function namesSecret(key: string): boolean {
  return SECRET_FIELDS.some((field) => field.test(key));
}

interface Value {
  readonly path: string;
  /** The last key that is a name. */
  readonly name: string;
  readonly value: string;
}

/** Every text of the table; none when it is not TOML. */
function valuesOf(text: string): readonly Value[] {
  const read = readToml(text);
  if (read.kind === "invalid") return [];
  const values: Value[] = [];
  const visit = (value: unknown, keys: readonly PropertyKey[]) => {
    if (typeof value === "string") {
      const name = keys.findLast((key) => typeof key === "string");
      values.push({ path: pathOf(keys), name: String(name ?? ""), value });
    } else if (typeof value === "object" && value !== null && !(value instanceof Date)) {
      const list = Array.isArray(value);
      for (const [key, item] of Object.entries(value)) {
        visit(item, [...keys, list ? Number(key) : key]);
      }
    }
  };
  visit(read.model, []);
  return values;
}

/** The line that shows `value` under its key, or shows the key; null when none does. */
function placeOf(
  lines: readonly string[],
  name: string,
  value: string,
): Pick<SecretPlace, "line" | "column"> {
  const shows = (line: string) => line.includes(value) || line.includes(JSON.stringify(value));
  let index = lines.findIndex((line) => line.includes(name) && shows(line));
  if (index < 0) index = lines.findIndex(shows);
  if (index < 0) {
    index = lines.findIndex((line) => new RegExp(`^\\s*["']?${plain(name)}`).test(line));
  }
  const line = lines[index];
  if (line === undefined) return { line: null, column: null };
  const at = line.indexOf(value);
  return { line: index + 1, column: (at < 0 ? line.search(/\S/) : at) + 1 };
}

function bare(word: string): string {
  return word.replaceAll(/^["']|["']$/g, "").split(".").at(-1) ?? "";
}

function plain(name: string): string {
  return name.replaceAll(/[^A-Za-z0-9_-]/g, "\\$&");
}
