/**
 * The response head: found in bytes as they arrive, and read strictly. Whatever two parsers could
 * understand in two ways is refused, because the bytes after it would then belong to nobody.
 *
 * Refused: other versions than HTTP/1.0 and 1.1, a bare CR or LF, folded lines, white space before
 * a colon, control characters, `content-length` beside `transfer-encoding` or unequal to itself,
 * any transfer coding other than exactly `chunked`, status 101 and statuses outside 100-599.
 *
 * @module
 */

import { byteText } from "../core/byte_text.ts";
import type { HeaderList } from "./upstream.ts";

/** Bytes of a head with the interim heads before it. */
export const HEAD_LIMIT = 64 * 1024;
/** Lines of one head, the status line included. */
export const HEAD_LINES = 256;

const CR = 13;
const LF = 10;

const STATUS_LINE = /^HTTP\/1\.([01]) ([1-5][0-9][0-9])(?: [\t\x20-\x7e\x80-\xff]*)?$/;
// one quantifier over the value: white space is cut off afterwards, so no input makes it backtrack
const HEADER_LINE = /^([!#$%&'*+\-.^_`|~0-9A-Za-z]+):([\t\x20-\x7e\x80-\xff]*)$/;
const DIGITS = /^[0-9]{1,15}$/;

/** How the end of a body is known; `size` only with `length`. */
export type Framing =
  | { readonly kind: "none" | "chunked" | "close" }
  | { readonly kind: "length"; readonly size: number };

/** A response head. */
export interface ResponseHead {
  readonly status: number;
  readonly headers: HeaderList;
  readonly framing: Framing;
  /** False when the member said that it will close. */
  readonly keepAlive: boolean;
}

/** A head, a note that it is only an interim one (1xx), or why it is refused. */
export type ParsedHead =
  | { readonly kind: "head"; readonly head: ResponseHead }
  | { readonly kind: "interim" }
  | { readonly kind: "malformed"; readonly cause: string };

/** Where a search for the end of a head stands. Survives from read to read: no byte is seen twice. */
export interface HeadSearch {
  /** Where the line being read begins. */
  line: number;
  lines: number;
  /** The next byte to look at. */
  at: number;
}

/**
 * Looks for the blank line. Gives the offset behind it, -1 when more bytes are needed, or the reason
 * for a refusal.
 */
export function findHeadEnd(bytes: Uint8Array, end: number, search: HeadSearch): number | string {
  for (;;) {
    const lf = bytes.indexOf(LF, search.at);
    if (lf < 0 || lf >= end) {
      search.at = end;
      return -1;
    }
    if (lf === search.line || bytes[lf - 1] !== CR) return "a bare LF";
    if (++search.lines > HEAD_LINES + 1) return `over ${HEAD_LINES} lines`;
    const blank = lf === search.line + 1;
    search.line = search.at = lf + 1;
    if (blank) return lf + 1;
  }
}

/** Reads the head in `bytes[start, end)`, which ends with its blank line. */
export function parseHead(bytes: Uint8Array, start: number, end: number): ParsedHead {
  const lines = byteText(bytes, start, end - 4).split("\r\n");
  const first = STATUS_LINE.exec(lines[0] as string);
  if (first === null) return malformed("the status line is not one of HTTP/1.0 or HTTP/1.1");
  const minor = first[1];
  const status = Number(first[2]);
  if (status === 101) return malformed("status 101: nobody asked for another protocol");

  const headers: [string, string][] = [];
  let length: string | null = null;
  let coding: string | null = null;
  let keepAlive = minor === "1";
  for (let at = 1; at < lines.length; at++) {
    const line = HEADER_LINE.exec(lines[at] as string);
    if (line === null) return malformed(`line ${at + 1} is not a header line`);
    const name = (line[1] as string).toLowerCase();
    const value = withoutOws(line[2] as string);
    if (name === "content-length") {
      if (!DIGITS.test(value)) return malformed("content-length is not a number");
      if (length !== null) {
        if (length !== value) return malformed("two content-lengths that differ");
        continue;
      }
      length = value;
    } else if (name === "transfer-encoding") {
      if (coding !== null || value.toLowerCase() !== "chunked") {
        return malformed("a transfer-encoding other than chunked");
      }
      coding = value;
    } else if (name === "connection" && closes(value)) keepAlive = false;
    headers.push([name, value]);
  }
  if (status < 200) return { kind: "interim" };
  if (length !== null && coding !== null) {
    return malformed("both content-length and transfer-encoding");
  }
  if (coding !== null && minor === "0") return malformed("transfer-encoding in HTTP/1.0");
  const framing = framingOf(status, length, coding);
  if (framing.kind === "close") keepAlive = false;
  return { kind: "head", head: { status, headers, framing, keepAlive } };
}

function framingOf(status: number, length: string | null, coding: string | null): Framing {
  if (status === 204 || status === 304) return { kind: "none" };
  if (coding !== null) return { kind: "chunked" };
  if (length !== null) return { kind: "length", size: Number(length) };
  return { kind: "close" };
}

function closes(connection: string): boolean {
  return connection.split(",").some((token) => token.trim().toLowerCase() === "close");
}

function malformed(cause: string): ParsedHead {
  return { kind: "malformed", cause };
}

/** Spaces and tabs only: `trim` would take a 0xA0 byte of the value with it. */
function withoutOws(value: string): string {
  let from = 0;
  let to = value.length;
  while (from < to && isOws(value.charCodeAt(from))) from++;
  while (to > from && isOws(value.charCodeAt(to - 1))) to--;
  return value.slice(from, to);
}

function isOws(code: number): boolean {
  return code === 0x20 || code === 0x09;
}
