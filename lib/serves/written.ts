/**
 * Reading single values of a serve that may not have its shape: rules look at what is there, so that
 * a person sees all there is to mend in one run.
 *
 * @module
 */

import { pathOf, type Problem } from "../core/problem.ts";
import { checkShape } from "../document/shape.ts";
import type { Table } from "../document/toml.ts";
import { type Claim, claimOf, memoryShape } from "./manifest_shape.ts";

/** The text at `key`; null when there is none. */
export function textAt(table: Table, key: string): string | null {
  const value = table[key];
  return typeof value === "string" ? value : null;
}

/** The whole number at `key`; null when there is none. */
export function wholeAt(table: Table, key: string): number | null {
  const value = table[key];
  return typeof value === "number" && Number.isSafeInteger(value) ? value : null;
}

/** The list at `key`; empty when there is none. */
export function listAt(table: Table, key: string): readonly unknown[] {
  const value = table[key];
  return Array.isArray(value) ? value : [];
}

/** The table at `key`; null when there is none. */
export function tableAt(table: Table, key: string): Table | null {
  const value = table[key];
  return typeof value === "object" && value !== null && !Array.isArray(value)
    ? value as Table
    : null;
}

/** `value` when it is a table; an empty one when it is anything else. */
export function tableOf(value: unknown): Table {
  return typeof value === "object" && value !== null && !Array.isArray(value) ? value as Table : {};
}

/** What a serve claims; null when its memory has no shape. */
export function writtenClaim(serve: Table): Claim | null {
  const memory = checkShape(memoryShape, serve["memory"]);
  return memory.kind === "ok" ? claimOf({ memory: memory.model }) : null;
}

/** A problem of the serve at `index`. */
export function at(
  index: number,
  keys: readonly PropertyKey[],
  code: string,
  message: string,
): Problem {
  return { path: pathOf(["serve", index, ...keys]), code, message };
}
