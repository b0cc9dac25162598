/**
 * TOML text becomes plain data, bounded, with the place of a syntax error.
 *
 * @module
 */

import { parse, stringify, TomlError } from "smol-toml";
import { type Checked, pathOf, type Problem } from "../core/problem.ts";

/** What a declared text may weigh. */
export interface TextBounds {
  /** Characters of the text. */
  readonly characters: number;
  /** Tables and arrays inside each other. */
  readonly depth: number;
  /** Keys and array items in all. */
  readonly nodes: number;
}

/** Plenty for anything a person writes. */
export const TEXT_BOUNDS: TextBounds = { characters: 2 * 1024 * 1024, depth: 32, nodes: 100_000 };

/** A parsed TOML document. */
export type Table = { readonly [key: string]: unknown };

/** Parses `text`. On a syntax error the one problem has a line and a column. */
export function readToml(text: string, bounds: TextBounds = TEXT_BOUNDS): Checked<Table> {
  if (text.length > bounds.characters) {
    return invalid("text_too_large", `${text.length} characters, of at most ${bounds.characters}`);
  }
  let table: Table;
  try {
    table = parse(text, { integersAsBigInt: "asNeeded" });
  } catch (error) {
    if (!(error instanceof TomlError)) throw error;
    // The library's message repeats the line; ours may hold a secret, so only its first line goes on.
    const [summary = "invalid TOML"] = error.message.split("\n");
    return {
      kind: "invalid",
      problems: [{
        path: "$",
        code: "syntax",
        message: summary.replace("Invalid TOML document: ", "not TOML: "),
        line: error.line,
        column: error.column,
      }],
    };
  }
  const excess = beyond(table, bounds);
  return excess === null ? { kind: "ok", model: table } : { kind: "invalid", problems: [excess] };
}

/** Plain data as TOML text. */
export function writeToml(table: Table): string {
  return `${stringify(table)}\n`;
}

function invalid(code: string, message: string): Checked<never> {
  return { kind: "invalid", problems: [{ path: "$", code, message }] };
}

function beyond(table: Table, bounds: TextBounds): Problem | null {
  let nodes = 0;
  const keys: PropertyKey[] = [];
  const visit = (value: unknown): Problem | null => {
    if (typeof value !== "object" || value === null || value instanceof Date) return null;
    if (keys.length > bounds.depth) {
      const message = `nested deeper than ${bounds.depth}`;
      return { path: pathOf(keys.slice(0, 4)), code: "text_too_deep", message };
    }
    const isList = Array.isArray(value);
    for (const [key, item] of Object.entries(value)) {
      if (++nodes > bounds.nodes) {
        const message = `more than ${bounds.nodes} keys and items`;
        return { path: "$", code: "text_too_many_nodes", message };
      }
      keys.push(isList ? Number(key) : key);
      const problem = visit(item);
      if (problem !== null) return problem;
      keys.pop();
    }
    return null;
  };
  return visit(table);
}
