/**
 * A value that must not be printed. Every way a value usually leaks into a text (template strings,
 * JSON, `console.log`, string concatenation) gives the mask; only `reveal` gives the value.
 *
 * @module
 */

const MASK = "[secret]";

/** Holds one secret text. */
export class Secret {
  readonly #value: string;

  constructor(value: string) {
    this.#value = value;
  }

  /** The value itself. Call it only at the sink that needs it. */
  reveal(): string {
    return this.#value;
  }

  toString(): string {
    return MASK;
  }

  toJSON(): string {
    return MASK;
  }

  [Symbol.for("Deno.customInspect")](): string {
    return MASK;
  }

  [Symbol.for("nodejs.util.inspect.custom")](): string {
    return MASK;
  }
}
