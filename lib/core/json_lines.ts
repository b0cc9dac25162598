/**
 * JSON lines: one value, one line, one `\n`. A last line without its `\n` was never finished.
 *
 * @module
 */

import type { Json } from "./canonical_json.ts";

/** The whole lines of a file, and where the first byte behind them stands. */
export interface JsonLines {
  readonly values: readonly Json[];
  /** Bytes that are whole lines; whatever follows is a torn line. */
  readonly wholeBytes: number;
}

/** A whole line that is not JSON. The file was damaged: nobody may guess what it said. */
export class CorruptLine extends Error {
  override readonly name = "CorruptLine";
  /** 1-based. */
  readonly line: number;

  constructor(line: number, cause: string) {
    super(
      `line ${line} is not a whole JSON value (${cause}); expected one value per line. ` +
        `Keep a copy of the file, then restore it or remove it by hand.`,
    );
    this.line = line;
  }
}

const NEWLINE = 0x0a;

/** The line that holds `value`. */
export function encodeLine(value: Json): string {
  return `${JSON.stringify(value)}\n`;
}

/** Reads whole lines; throws {@link CorruptLine} for one that is not UTF-8 JSON. */
export function decodeLines(bytes: Uint8Array): JsonLines {
  const values: Json[] = [];
  const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
  let start = 0;
  for (let end = bytes.indexOf(NEWLINE); end !== -1; end = bytes.indexOf(NEWLINE, start)) {
    try {
      values.push(JSON.parse(decoder.decode(bytes.subarray(start, end))) as Json);
    } catch (error) {
      // The engine's message quotes the text: only the kind of fault is told.
      throw new CorruptLine(
        values.length + 1,
        error instanceof SyntaxError ? "syntax" : "not UTF-8",
      );
    }
    start = end + 1;
  }
  return { values, wholeBytes: start };
}
