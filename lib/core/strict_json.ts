/**
 * A JSON reader for texts of strangers: what two readers could take differently is refused.
 * Duplicate keys, lone surrogates, numbers beyond a double, depth and size; and, as in JSON, NaN.
 *
 * @module
 */

import type { Json } from "./canonical_json.ts";
import { type Refusal, refuse } from "./refusal.ts";

/** What a text may weigh. */
export interface JsonBounds {
  /** UTF-8 bytes of the text. */
  readonly bytes: number;
  /** Objects and arrays inside each other. */
  readonly depth: number;
  /** Values in all. */
  readonly values: number;
}

/** Why a text is not read. */
export type JsonFault =
  | "json_too_large" // more bytes or values than allowed
  | "json_not_utf8" // bytes, or an escape, that are no text
  | "json_malformed" // not JSON, or more than one value
  | "json_too_deep" // more nesting than allowed
  | "json_duplicate_key" // one object names a key twice
  | "json_number_range"; // a number that a double cannot hold

/** What reading gave. */
export type JsonRead = { readonly kind: "ok"; readonly value: Json } | Refusal<JsonFault>;

/** Plenty for the input of an operation. */
export const INPUT_BOUNDS: JsonBounds = { bytes: 1024 * 1024, depth: 64, values: 100_000 };

/** Reads one JSON value. No message quotes the text: it may hold a secret. */
export function readJson(bytes: Uint8Array, bounds: JsonBounds = INPUT_BOUNDS): JsonRead {
  if (bytes.length > bounds.bytes) {
    return refuse(
      "json_too_large",
      `observed ${bytes.length} bytes, expected at most ${bounds.bytes}`,
    );
  }
  let text: string;
  try {
    text = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    return refuse("json_not_utf8", "observed bytes that are not UTF-8 text");
  }
  try {
    return { kind: "ok", value: new Reader(text, bounds).whole() };
  } catch (error) {
    if (error instanceof Fault) return refuse(error.code, error.message);
    throw error;
  }
}

/** Never leaves this module: how deep code says no. */
class Fault extends Error {
  readonly code: JsonFault;

  constructor(code: JsonFault, message: string) {
    super(message);
    this.code = code;
  }
}

const NUMBER = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?/y;
/** A whole string; escapes and control characters are left to the engine's own parser. */
const STRING = /"[^"\\]*(?:\\.[^"\\]*)*"/y;
const WORDS: readonly (readonly [string, Json])[] = [["true", true], ["false", false], [
  "null",
  null,
]];

/** As an assignment makes a property. */
const PLAIN = { enumerable: true, writable: true, configurable: true } as const;

/** Tab, line feed, carriage return, blank. */
const SPACES: readonly number[] = [0x09, 0x0a, 0x0d, 0x20];

class Reader {
  readonly #text: string;
  readonly #bounds: JsonBounds;
  #at = 0;
  #values = 0;

  constructor(text: string, bounds: JsonBounds) {
    this.#text = text;
    this.#bounds = bounds;
  }

  whole(): Json {
    const value = this.#value(0);
    this.#space();
    if (this.#at < this.#text.length) throw this.#malformed("the end of the text");
    return value;
  }

  #value(depth: number): Json {
    if (++this.#values > this.#bounds.values) {
      throw new Fault("json_too_large", `observed more than ${this.#bounds.values} values`);
    }
    this.#space();
    const next = this.#text[this.#at];
    if (next === "{" || next === "[") {
      if (depth >= this.#bounds.depth) {
        throw new Fault("json_too_deep", `observed more than ${this.#bounds.depth} levels`);
      }
      return next === "{" ? this.#object(depth) : this.#array(depth);
    }
    if (next === '"') return this.#string();
    for (const [word, value] of WORDS) {
      if (this.#text.startsWith(word, this.#at)) {
        this.#at += word.length;
        return value;
      }
    }
    const digits = this.#match(NUMBER);
    if (digits === null) throw this.#malformed("a value");
    const number = Number(digits);
    if (!Number.isFinite(number)) {
      throw new Fault("json_number_range", "observed a number that a double cannot hold");
    }
    return number;
  }

  #object(depth: number): Json {
    const object: { [key: string]: Json } = {};
    this.#at++;
    if (this.#take("}")) return object;
    do {
      this.#space();
      if (this.#text[this.#at] !== '"') throw this.#malformed("a key");
      const key = this.#string();
      if (Object.hasOwn(object, key)) {
        throw new Fault("json_duplicate_key", "observed one key twice in one object");
      }
      if (!this.#take(":")) throw this.#malformed("`:`");
      const value = this.#value(depth + 1);
      // Defined, not assigned: `__proto__` is a key like any other here.
      if (key === "__proto__") Object.defineProperty(object, key, { ...PLAIN, value });
      // Defining every key, a call of the engine each, took longer than all the rest.
      else object[key] = value;
    } while (this.#take(","));
    if (!this.#take("}")) throw this.#malformed("`,` or `}`");
    return object;
  }

  #array(depth: number): Json {
    const array: Json[] = [];
    this.#at++;
    if (this.#take("]")) return array;
    do array.push(this.#value(depth + 1)); while (this.#take(","));
    if (!this.#take("]")) throw this.#malformed("`,` or `]`");
    return array;
  }

  #string(): string {
    const quoted = this.#match(STRING);
    if (quoted === null) throw this.#malformed("a string that is closed");
    let text: string;
    try {
      text = JSON.parse(quoted);
    } catch {
      throw this.#malformed("a string with escapes of JSON and no control characters");
    }
    if (!text.isWellFormed()) {
      throw new Fault("json_not_utf8", "observed a lone surrogate, which has no UTF-8 form");
    }
    return text;
  }

  #take(sign: string): boolean {
    this.#space();
    if (this.#text[this.#at] !== sign) return false;
    this.#at++;
    return true;
  }

  #space(): void {
    while (SPACES.includes(this.#text.charCodeAt(this.#at))) this.#at++;
  }

  #match(pattern: RegExp): string | null {
    pattern.lastIndex = this.#at;
    const found = pattern.exec(this.#text);
    if (found === null) return null;
    this.#at = pattern.lastIndex;
    return found[0];
  }

  #malformed(expected: string): Fault {
    return new Fault("json_malformed", `expected ${expected} at character ${this.#at + 1}`);
  }
}
