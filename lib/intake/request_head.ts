/**
 * The request head: found in bytes as they arrive, and read strictly. Whatever two parsers could
 * understand in two ways is refused, because the bytes after it would then belong to nobody.
 *
 * Refused: other versions than HTTP/1.0 and 1.1, a bare CR or LF, folded lines, white space before
 * a colon, control characters anywhere, `content-length` beside `transfer-encoding` or twice, any
 * transfer coding other than exactly `chunked`, a `host` that is missing in HTTP/1.1, twice or no
 * host, a target that is neither a path nor an absolute URL, a fragment in it.
 *
 * @module
 */

import { byteText } from "../core/byte_text.ts";
import type { HeaderList } from "../relay/upstream.ts";
import type { HeadRefusal } from "./asked.ts";

/** Bytes of a head, and how many lines it may have, the request line included. */
export const HEAD_LIMIT = 64 * 1024;
/** As above. */
export const HEAD_LINES = 128;
/** Bytes of a target. */
export const TARGET_LIMIT = 16 * 1024;

const TAB = 9;
const LF = 10;
const CR = 13;
const SPACE = 32;
const COLON = 58;

const METHOD = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]{1,64}$/;
const TARGET = /^(?:\/|https?:\/\/[\x21\x22\x24-\x7e]|\*$)[\x21\x22\x24-\x7e]*$/i;
const HOST = /^[0-9A-Za-z.\-_~%!$&'()*+,;=:[\]]*$/;
const DIGITS = /^[0-9]{1,15}$/;

/** How the end of the body is known. */
export type RequestFraming =
  | { readonly kind: "none" | "chunked" }
  | { readonly kind: "length"; readonly size: number };

/** A request head. */
export interface RequestHead {
  readonly method: string;
  readonly target: string;
  /** 0 or 1: the version is HTTP/1.0 or HTTP/1.1. */
  readonly minor: 0 | 1;
  readonly headers: HeaderList;
  readonly framing: RequestFraming;
  /** True when the client wants the connection to go on. */
  readonly keepAlive: boolean;
  /** True when the client waits for a go-ahead before it sends its body. */
  readonly expects: boolean;
}

/** Why a head is refused; `cause` is for the client and holds nothing it sent. */
export interface RefusedHead {
  readonly kind: "refused";
  readonly code: HeadRefusal;
  readonly cause: string;
}

/** A head, or why it is refused. */
export type ParsedRequest = { readonly kind: "head"; readonly head: RequestHead } | RefusedHead;

/** Where a search for the end of a head stands. Survives from read to read: no byte is seen twice. */
export interface RequestSearch {
  /** Where the head begins; behind an empty line before it, of which one is passed over. */
  start: number;
  /** Where the line being read begins. */
  line: number;
  lines: number;
  /** The next byte to look at. */
  at: number;
  /** True once an empty line has been passed over. */
  skipped: boolean;
}

/** Looks for the blank line. The offset behind it, -1 when more bytes are needed, or a refusal. */
export function findRequestEnd(
  bytes: Uint8Array,
  end: number,
  search: RequestSearch,
): number | RefusedHead {
  for (;;) {
    const lf = bytes.indexOf(LF, search.at);
    if (lf < 0 || lf >= end) {
      search.at = end;
      if (search.lines === 0 && end - search.start > TARGET_LIMIT + 128) return TOO_LONG;
      if (end - search.start >= HEAD_LIMIT) return TOO_LARGE;
      return -1;
    }
    if (lf === search.line || bytes[lf - 1] !== CR) return malformed("a bare LF");
    const blank = lf === search.line + 1;
    search.line = search.at = lf + 1;
    if (blank && search.lines === 0) {
      if (search.skipped) return malformed("empty lines before the request line");
      search.skipped = true;
      search.start = lf + 1;
      continue;
    }
    if (search.lines === 0 && lf - search.start > TARGET_LIMIT + 128) return TOO_LONG;
    if (blank) return lf + 1 - search.start > HEAD_LIMIT ? TOO_LARGE : lf + 1;
    if (++search.lines > HEAD_LINES) return TOO_LARGE;
  }
}

/** What a byte may be in a header line. */
const NAME = 1;
const UPPER = 2;
const VALUE = 4;

const CLASS = classes();

function classes(): Uint8Array {
  const table = new Uint8Array(256);
  for (let byte = 0x20; byte < 0x100; byte++) if (byte !== 0x7f) table[byte] = VALUE;
  table[TAB] = VALUE;
  for (const character of "!#$%&'*+-.^_`|~0123456789abcdefghijklmnopqrstuvwxyz") {
    table[character.charCodeAt(0)] = NAME | VALUE;
  }
  for (let byte = 0x41; byte <= 0x5a; byte++) table[byte] = NAME | UPPER | VALUE;
  return table;
}

/** Reads the head in `bytes[start, end)`, which ends with its blank line. */
export function parseRequestHead(bytes: Uint8Array, start: number, end: number): ParsedRequest {
  const text = byteText(bytes, start, end);
  const lineEnd = text.indexOf("\r\n");
  const line = readRequestLine(text.slice(0, lineEnd));
  if ("kind" in line) return line;

  const headers: [string, string][] = [];
  const told: Told = { host: null, length: null, coding: null, connection: null, expect: null };
  const last = end - 2;
  for (let at = start + lineEnd + 2; at < last;) {
    const nameAt = at;
    let seen = 0;
    let kind = CLASS[bytes[at] as number] as number;
    while ((kind & NAME) !== 0) {
      seen |= kind;
      kind = CLASS[bytes[++at] as number] as number;
    }
    if (bytes[at] !== COLON || at === nameAt) return malformed("a line that is no header line");
    const written = text.slice(nameAt - start, at - start);
    at++;
    while (bytes[at] === SPACE || bytes[at] === TAB) at++;
    const valueAt = at;
    let valueEnd = at;
    while (((CLASS[bytes[at] as number] as number) & VALUE) !== 0) {
      const byte = bytes[at++];
      if (byte !== SPACE && byte !== TAB) valueEnd = at;
    }
    if (bytes[at] !== CR || bytes[at + 1] !== LF) {
      return malformed("a control character in a header");
    }
    at += 2;
    const name = (seen & UPPER) === 0 ? written : written.toLowerCase();
    const value = text.slice(valueAt - start, valueEnd - start);
    const problem = note(told, name, value);
    if (problem !== null) return problem;
    headers.push([name, value]);
  }
  return judge(line, headers, told);
}

interface RequestLine {
  readonly method: string;
  readonly target: string;
  readonly minor: 0 | 1;
}

function readRequestLine(line: string): RequestLine | RefusedHead {
  const first = line.indexOf(" ");
  const second = line.indexOf(" ", first + 1);
  const version = line.slice(second + 1);
  const method = line.slice(0, Math.max(0, first));
  const target = line.slice(first + 1, second);
  if (second < 0 || !METHOD.test(method)) return malformed("the request line is not one of HTTP/1");
  if (version !== "HTTP/1.1" && version !== "HTTP/1.0") {
    return /^HTTP\/[0-9](?:\.[0-9])?$/.test(version)
      ? refused("version_unsupported", "this listener speaks HTTP/1.1 and HTTP/1.0")
      : malformed("the request line is not one of HTTP/1");
  }
  if (target.length > TARGET_LIMIT) return TOO_LONG;
  if (!TARGET.test(target)) return malformed("the target is neither a path nor an absolute URL");
  return { method, target, minor: version === "HTTP/1.1" ? 1 : 0 };
}

/** The headers that decide how the message is read. */
interface Told {
  host: string | null;
  length: string | null;
  coding: string | null;
  connection: string | null;
  expect: string | null;
}

function note(told: Told, name: string, value: string): RefusedHead | null {
  switch (name) {
    case "host":
      if (told.host !== null) return refused("host_invalid", "more than one host header");
      if (!HOST.test(value)) return refused("host_invalid", "the host header holds no host");
      told.host = value;
      return null;
    case "content-length":
      if (told.length !== null) {
        return refused("framing_ambiguous", "more than one content-length");
      }
      if (!DIGITS.test(value)) {
        return refused("framing_ambiguous", "the content-length is not one whole number");
      }
      told.length = value;
      return null;
    case "transfer-encoding":
      told.coding = told.coding === null ? value.toLowerCase() : `${told.coding}, more`;
      return null;
    case "connection":
      told.connection = told.connection === null ? value : `${told.connection},${value}`;
      return null;
    case "expect":
      told.expect = told.expect === null ? value.toLowerCase() : "more";
      return null;
  }
  return null;
}

function judge(line: RequestLine, headers: HeaderList, told: Told): ParsedRequest {
  const { minor } = line;
  if (told.host === null && minor === 1) {
    return refused("host_invalid", "HTTP/1.1 needs a host header");
  }
  if (told.coding !== null && told.length !== null) {
    return refused("framing_ambiguous", "both content-length and transfer-encoding");
  }
  if (told.coding !== null && minor === 0) {
    return refused("framing_ambiguous", "transfer-encoding in HTTP/1.0");
  }
  if (told.coding !== null && told.coding !== "chunked") {
    return refused(
      "transfer_encoding_unsupported",
      "no transfer-encoding but chunked is understood",
    );
  }
  if (told.expect !== null && told.expect !== "100-continue" && minor === 1) {
    return refused("expectation_unsupported", "no expectation but 100-continue is understood");
  }
  const framing = framingOf(told);
  return {
    kind: "head",
    head: {
      method: line.method,
      target: line.target,
      minor,
      headers,
      framing,
      keepAlive: goesOn(minor, told.connection),
      expects: told.expect !== null && minor === 1 && framing.kind !== "none",
    },
  };
}

function framingOf({ coding, length }: Told): RequestFraming {
  if (coding !== null) return { kind: "chunked" };
  const size = Number(length ?? 0);
  return size === 0 ? { kind: "none" } : { kind: "length", size };
}

function goesOn(minor: 0 | 1, connection: string | null): boolean {
  if (connection === null || connection === "keep-alive") return minor === 1 || connection !== null;
  const words = connection.toLowerCase().split(",").map((word) => word.trim());
  return !words.includes("close") && (minor === 1 || words.includes("keep-alive"));
}

function refused(code: HeadRefusal, cause: string): RefusedHead {
  return { kind: "refused", code, cause };
}

function malformed(cause: string): RefusedHead {
  return refused("head_malformed", cause);
}

const TOO_LARGE = refused(
  "head_too_large",
  `the head is over ${HEAD_LIMIT / 1024} KiB or ${HEAD_LINES} lines`,
);
const TOO_LONG = refused("target_too_long", `the target is over ${TARGET_LIMIT / 1024} KiB`);
