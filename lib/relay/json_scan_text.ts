/**
 * The small print of JSON text: what may come next, which bytes make a number or literal, and what
 * a string says.
 *
 * @module
 */

/** What may come next. */
export type Expect =
  | "value"
  | "element" // a value, or the end of an empty array
  | "key" // a key, or the end of an empty object
  | "next-key" // a key only: after a comma
  | "colon"
  | "comma"
  | "nothing";

/** Letters, digits, `+`, `-`, `.`: what numbers and literals are made of. */
export function isScalarByte(byte: number): boolean {
  return (byte >= 0x30 && byte <= 0x39) || (byte >= 0x61 && byte <= 0x7a) ||
    (byte >= 0x41 && byte <= 0x5a) || byte === 0x2d || byte === 0x2b || byte === 0x2e;
}

/**
 * The index after a plain whole number at `from`, when its end stands in the same chunk; else
 * `from`. Lists of token ids are made of these, and nothing else is as many.
 */
export function plainNumberEnd(chunk: Uint8Array, from: number): number {
  let i = from;
  while (i < chunk.length && isDigit(chunk[i] as number)) i++;
  const leadingZero = i > from + 1 && chunk[from] === 0x30;
  return leadingZero || i === chunk.length || isScalarByte(chunk[i] as number) ? from : i;
}

function isDigit(byte: number): boolean {
  return byte >= 0x30 && byte <= 0x39;
}

const NUMBER = /^-?(0|[1-9]\d*)(\.\d+)?([eE][+-]?\d+)?$/;

/** What kind of value a whole scalar is; null when it is none. */
export function scalarKind(text: string): "boolean" | "null" | "number" | null {
  if (text === "true" || text === "false") return "boolean";
  if (text === "null") return "null";
  return NUMBER.test(text) ? "number" : null;
}

/** True when a long scalar that begins so can still be a number. */
export function beginsNumber(text: string): boolean {
  return /^-?\d[\d.eE+-]*$/.test(text);
}

/** A byte as a message shows it. */
export function shownByte(byte: number): string {
  return byte > 0x20 && byte < 0x7f
    ? `\`${String.fromCharCode(byte)}\``
    : `byte 0x${byte.toString(16).padStart(2, "0")}`;
}

/** A kind of value with its article; null needs none. */
export function oneOf(kind: string): string {
  return kind === "null" ? kind : `${/^[aeiou]/.test(kind) ? "an" : "a"} ${kind}`;
}

const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

/** The text between the quotes, unescaped; null when it is not valid JSON or UTF-8. */
export function unescape(bytes: readonly number[]): string | null {
  // Nearly every key and name is this: no escape, no letter beyond ASCII, no control character.
  if (bytes.every((byte) => byte >= 0x20 && byte < 0x7f && byte !== 0x5c)) {
    return String.fromCharCode(...bytes);
  }
  try {
    const text = decoder.decode(Uint8Array.from(bytes));
    return text.includes("\\") ? JSON.parse(`"${text}"`) as string : text;
  } catch {
    return null;
  }
}
