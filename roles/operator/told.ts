/**
 * What an agent told, read for a person: an agent of another version may tell it in another shape.
 *
 * @module
 */

import type { Json } from "../../lib/core/canonical_json.ts";
import { type JsonObject, objectOf } from "../../lib/dispatch/reply.ts";

/** The object under `name`; an empty one where there is none. */
export function objectTold(of: JsonObject, name: string): JsonObject {
  return objectOf(of[name]) ?? {};
}

/** The list under `name`; an empty one where there is none. */
function listTold(of: JsonObject, name: string): readonly Json[] {
  const value = of[name];
  return Array.isArray(value) ? value as readonly Json[] : [];
}

/** The objects of the list under `name`. */
export function objectsTold(of: JsonObject, name: string): readonly JsonObject[] {
  return listTold(of, name).map((one) => objectOf(one)).filter((one) => one !== null);
}

/** The texts of the list under `name`. */
export function textsTold(of: JsonObject, name: string): readonly string[] {
  return listTold(of, name).filter((one) => typeof one === "string");
}

/** A value in one cell; `none` for what is null or not told. */
export function cellTold(of: JsonObject, name: string, none = "-"): string {
  const value = of[name];
  if (value === null || value === undefined) return none;
  return typeof value === "string" ? value : JSON.stringify(value);
}

/** What an agent says must not steer the terminal, nor turn a line around. Lines stay lines. */
export function harmless(text: string): string {
  return text.replaceAll(/[^\n\P{Cc}]|[\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/gu, "\ufffd");
}

/** The same in one line, and no longer than `most` characters. */
export function short(text: string, most = 160): string {
  const line = harmless(text.slice(0, most * 2).replaceAll(/\s+/g, " ")).trim();
  return line.length > most ? `${line.slice(0, most - 1)}…` : line;
}
