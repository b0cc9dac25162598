/**
 * Plain data becomes a typed shape by a zod schema, every fault a {@link Problem} with its path.
 * Values are not quoted, numbers and switches apart: a secret may stand in the wrong place.
 *
 * @module
 */

import type { z } from "zod";
import { maskText } from "../core/mask.ts";
import { type Checked, pathOf, type Problem } from "../core/problem.ts";
import { nearest } from "./nearest.ts";
import { keysAt } from "./shape_keys.ts";

/** Checks `value` against `schema`; all faults at once. */
export function checkShape<Model>(schema: z.ZodType<Model>, value: unknown): Checked<Model> {
  const result = schema.safeParse(value);
  return result.success ? { kind: "ok", model: result.data } : {
    kind: "invalid",
    problems: onePerPlace(
      result.error.issues.flatMap((issue) => problemsOf(issue, schema, value)).map(masked),
    ),
  };
}

/** A fault a schema states itself: `ctx.addIssue(fault("code", "message"))`. */
export function fault(code: string, message: string): {
  readonly code: "custom";
  readonly message: string;
  readonly params: { readonly code: string };
} {
  return { code: "custom", message, params: { code } };
}

/** `problem` without a token of ours that stands in a key or a text. */
export function masked(problem: Problem): Problem {
  return { ...problem, path: maskText(problem.path), message: maskText(problem.message) };
}

/** The first fault at each path: what has the wrong type is not also too short. */
function onePerPlace(problems: readonly Problem[]): Problem[] {
  const places = new Set<string>();
  return problems.filter(({ path }) => !places.has(path) && places.add(path));
}

function problemsOf(issue: z.core.$ZodIssue, schema: z.core.$ZodType, value: unknown): Problem[] {
  const path = pathOf(issue.path);
  const found = at(value, issue.path);
  switch (issue.code) {
    case "unrecognized_keys":
      return issue.keys.map((key) => ({
        path: pathOf([...issue.path, key]),
        code: "unknown_key",
        message: `this key is not known here; ${advice(key, keysAt(schema, issue.path))}`,
      }));
    case "invalid_type":
      return [
        found === undefined ? missing(path, noun(issue.expected)) : {
          path,
          code: "wrong_type",
          message: `expected ${noun(issue.expected)}, found ${kindOf(found)}`,
        },
      ];
    case "invalid_value": {
      const expected = issue.values.map((one) => JSON.stringify(one)).join(" or ");
      if (found === undefined) return [missing(path, expected)];
      const meant = typeof found === "string" ? nearest(found, issue.values.map(String)) : null;
      const hint = meant === null ? "" : `; did you mean ${JSON.stringify(meant)}?`;
      return [{
        path,
        code: "not_allowed",
        message: `expected ${expected}, found ${shown(found)}${hint}`,
      }];
    }
    case "too_big":
      return [outOfRange(path, "at most", Number(issue.maximum), issue.origin, found)];
    case "too_small":
      return [outOfRange(path, "at least", Number(issue.minimum), issue.origin, found)];
    case "invalid_format":
      return [{
        path,
        code: "malformed",
        message: issue.message.startsWith("Invalid string")
          ? `does not read as ${issue.pattern ?? issue.format}`
          : issue.message,
      }];
    case "invalid_key":
      return issue.issues.flatMap((inner) =>
        problemsOf({ ...inner, path: [] }, schema, issue.path.at(-1)).map(({ message }) => ({
          path,
          code: "malformed",
          message: `the key itself: ${message}`,
        }))
      );
    case "invalid_union": {
      // A union by its `kind` or `model` names the key that decides, and what it may be.
      if (!("options" in issue)) return [{ path, code: "invalid", message: issue.message }];
      const options = (issue.options ?? []).map((one) => JSON.stringify(one)).join(" or ");
      const code = at(value, issue.path) === undefined ? "missing" : "not_allowed";
      return [{ path, code, message: `expected ${options}` }];
    }
    case "custom": {
      const code = issue.params?.["code"];
      return [{ path, code: typeof code === "string" ? code : "invalid", message: issue.message }];
    }
    default:
      return [{ path, code: "invalid", message: issue.message }];
  }
}

function advice(key: string, known: readonly string[]): string {
  const meant = nearest(key, known);
  return meant === null
    ? "remove it or check its spelling"
    : `did you mean \`${meant}\`? If not, remove it`;
}

function missing(path: string, expected: string): Problem {
  return { path, code: "missing", message: `required and not there: expected ${expected}` };
}

function outOfRange(
  path: string,
  side: "at most" | "at least",
  bound: number,
  origin: string,
  found: unknown,
): Problem {
  const text = typeof found === "string" || Array.isArray(found);
  const size = text ? String(found.length) : shown(found);
  const message = `expected ${side} ${bound}${unit(origin, bound)}, found ${size}`;
  return { path, code: "out_of_range", message };
}

function at(value: unknown, keys: readonly PropertyKey[]): unknown {
  let here = value;
  for (const key of keys) {
    if (typeof here !== "object" || here === null) return undefined;
    here = (here as { readonly [name: PropertyKey]: unknown })[key];
  }
  return here;
}

const NOUNS: { readonly [expected: string]: string } = {
  string: "text",
  number: "a number",
  int: "a whole number",
  bigint: "a number of more than 53 bits",
  object: "a table",
  record: "a table",
  array: "a list",
  boolean: "true or false",
};

function noun(expected: string): string {
  return NOUNS[expected] ?? expected;
}

function kindOf(value: unknown): string {
  if (Array.isArray(value)) return "a list";
  if (value instanceof Date) return "a date";
  if (typeof value === "boolean") return String(value);
  return NOUNS[typeof value] ?? typeof value;
}

/** What may be quoted of a value: a number or a switch says nothing secret. */
function shown(value: unknown): string {
  if (typeof value === "number") return String(value);
  return typeof value === "string" ? "another text" : kindOf(value);
}

function unit(origin: string, count: number): string {
  const one = origin === "string" ? " character" : origin === "array" ? " item" : "";
  return one === "" || count === 1 ? one : `${one}s`;
}
