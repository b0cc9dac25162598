/**
 * Canonical JSON: one spelling per value, so that a digest of it names the value.
 * Keys are sorted by UTF-16 code unit (RFC 8785 order), no white space, numbers as ECMAScript
 * prints them. Not the full RFC 8785: lone surrogates are refused rather than passed through.
 *
 * @module
 */

/** A value JSON can hold. */
export type Json = null | boolean | number | string | readonly Json[] | {
  readonly [key: string]: Json;
};

const MAX_DEPTH = 128;

/**
 * The canonical text of `value`. Throws `TypeError` on what JSON cannot hold (undefined, functions,
 * non-finite numbers, bigints, lone surrogates, depth over 128): such a value is a bug of the caller.
 */
export function canonicalJson(value: Json): string {
  return write(value, 0);
}

function write(value: Json, depth: number): string {
  if (depth > MAX_DEPTH) throw new TypeError(`canonical JSON: deeper than ${MAX_DEPTH}`);
  if (value === null || typeof value === "boolean") return String(value);
  if (typeof value === "number") {
    if (!Number.isFinite(value)) {
      throw new TypeError(`canonical JSON: ${value} is not a JSON number`);
    }
    return JSON.stringify(value);
  }
  if (typeof value === "string") return text(value);
  if (Array.isArray(value)) {
    return `[${value.map((item: Json) => write(item, depth + 1)).join(",")}]`;
  }
  if (typeof value !== "object" || Object.getPrototypeOf(value) !== Object.prototype) {
    throw new TypeError(`canonical JSON: cannot hold a ${typeof value} that is not plain data`);
  }
  const record = value as { readonly [key: string]: Json };
  const members = Object.keys(record).sort().map((key) =>
    `${text(key)}:${write(record[key] as Json, depth + 1)}`
  );
  return `{${members.join(",")}}`;
}

function text(value: string): string {
  if (!value.isWellFormed()) {
    throw new TypeError("canonical JSON: a lone surrogate has no UTF-8 form");
  }
  return JSON.stringify(value);
}
