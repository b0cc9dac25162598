/**
 * Plain data becomes a typed shape by a zod schema, every fault a {@link Problem} with its path.
 *
 * @module
 */

import type { z } from "zod";
import { type Checked, pathOf, type Problem } from "../core/problem.ts";

/** Checks `value` against `schema`; all faults at once. */
export function checkShape<Model>(schema: z.ZodType<Model>, value: unknown): Checked<Model> {
  const result = schema.safeParse(value);
  return result.success ? { kind: "ok", model: result.data } : {
    kind: "invalid",
    problems: result.error.issues.flatMap((issue) => problemsOf(issue, value)),
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

function problemsOf(issue: z.core.$ZodIssue, value: unknown): Problem[] {
  const path = pathOf(issue.path);
  switch (issue.code) {
    case "unrecognized_keys":
      return issue.keys.map((key) => ({
        path: pathOf([...issue.path, key]),
        code: "unknown_key",
        message: "this key is not known here; remove it or check its spelling",
      }));
    case "invalid_type":
      return [
        at(value, issue.path) === undefined
          ? { path, code: "missing", message: `required, a ${noun(issue.expected)}` }
          : {
            path,
            code: "wrong_type",
            message: `expected a ${noun(issue.expected)}, found a ${kindOf(at(value, issue.path))}`,
          },
      ];
    case "invalid_value":
      return [{
        path,
        code: at(value, issue.path) === undefined ? "missing" : "not_allowed",
        message: `expected ${issue.values.map((one) => JSON.stringify(one)).join(" or ")}`,
      }];
    case "too_big":
      return [{
        path,
        code: "out_of_range",
        message: `at most ${issue.maximum}${unit(issue.origin)}`,
      }];
    case "too_small":
      return [{
        path,
        code: "out_of_range",
        message: `at least ${issue.minimum}${unit(issue.origin)}`,
      }];
    case "invalid_format":
      return [{
        path,
        code: "malformed",
        message: issue.message.startsWith("Invalid string")
          ? `does not read as ${issue.pattern ?? issue.format}`
          : issue.message,
      }];
    case "invalid_key":
      return issue.issues.map((inner) => ({
        path,
        code: "malformed",
        message: `the key itself: ${inner.message}`,
      }));
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
  int: "whole number",
  object: "table",
  record: "table",
  array: "list",
  boolean: "true or false",
};

function noun(expected: string): string {
  return NOUNS[expected] ?? expected;
}

function kindOf(value: unknown): string {
  if (Array.isArray(value)) return "list";
  if (value instanceof Date) return "date";
  return NOUNS[typeof value] ?? typeof value;
}

function unit(origin: string): string {
  return origin === "string" ? " characters" : origin === "array" ? " items" : "";
}
