/**
 * Reads a multipart/form-data body as its bytes pass: finds the value of the field `model`, lets
 * everything else (an hour of audio) go by.
 *
 *     preamble ──delimiter──> part head ──empty line──> part content ──delimiter──> part head …
 *                        └──`--`──> epilogue
 *
 * @module
 */

import type { BodyFacts, BodyScan, ScanCode, ScanProblem } from "./body_facts.ts";

const MAX_HEAD_BYTES = 8 * 1024;
const MAX_VALUE_BYTES = 1024;
const CR = 0x0d;

const encoder = new TextEncoder();
const decoder = new TextDecoder("utf-8", { fatal: true });

/** The boundary a content-type names; null when it names none that RFC 2046 allows. */
export function boundaryOf(contentType: string): string | null {
  if (!/^multipart\/form-data\s*;/i.test(contentType)) return null;
  const match = /;\s*boundary=(?:"([^"\r\n]{1,70})"|([^\s;",]{1,70}))/i.exec(contentType);
  const boundary = match?.[1] ?? match?.[2] ?? null;
  return boundary !== null && /^[0-9A-Za-z'()+_,./:=? -]*[0-9A-Za-z'()+_,./:=?-]$/.test(boundary)
    ? boundary
    : null;
}

/** Fields the router acts on: each may appear once. */
const SINGLE_FIELDS: ReadonlySet<string> = new Set(["model", "stream"]);

type State = "preamble" | "after-delimiter" | "head" | "content" | "epilogue";

/** Scans one body. */
export class MultipartScan implements BodyScan {
  /** CR LF `--` boundary: what ends a part's content. The first one may lack its CR LF. */
  readonly #delimiter: Uint8Array;
  #state: State = "preamble";
  /** Bytes not yet decided on, and where they stand in the body. */
  #held: Uint8Array = new Uint8Array(0);
  #heldAt = 0;
  #problem: ScanProblem | null = null;
  readonly #seen = new Set<string>();
  /** The field being read, when it is one we act on. */
  #field: string | null = null;
  #value: { start: number; bytes: number[] } | null = null;
  #model: BodyFacts["model"] = null;
  #stream: boolean | null = null;

  constructor(boundary: string) {
    this.#delimiter = encoder.encode(`\r\n--${boundary}`);
  }

  get facts(): BodyFacts {
    const media: BodyFacts["media"] = new Set();
    return { model: this.#model, stream: this.#stream, maxTokens: null, tools: false, media };
  }

  get hasModel(): boolean {
    return this.#model !== null;
  }

  push(chunk: Uint8Array): ScanProblem | null {
    if (this.#problem !== null || this.#state === "epilogue") return this.#problem;
    const bytes = new Uint8Array(this.#held.length + chunk.length);
    bytes.set(this.#held);
    bytes.set(chunk, this.#held.length);
    let at = 0;
    while (this.#problem === null) {
      const next = this.#step(bytes, at);
      if (next === null) break;
      at = next;
    }
    this.#held = bytes.slice(at);
    this.#heldAt += at;
    return this.#problem;
  }

  finish(): ScanProblem | null {
    if (this.#problem !== null) return this.#problem;
    const end = this.#heldAt + this.#held.length;
    if (this.#state !== "epilogue") {
      return this.#fail("body_truncated", "the body ends before its last boundary", end);
    }
    if (this.#model === null) {
      return this.#fail("model_missing", "the form has no field `model`", end);
    }
    return null;
  }

  /** Goes on from `at`; the index gone on to, or null when more bytes are needed. */
  #step(bytes: Uint8Array, at: number): number | null {
    switch (this.#state) {
      case "preamble": {
        const first = this.#delimiter.subarray(2);
        if (bytes.length - at < first.length) return null;
        if (startsWith(bytes, at, first)) return this.#go("after-delimiter", at + first.length);
        const found = find(bytes, at, this.#delimiter);
        if (found !== -1) return this.#go("after-delimiter", found + this.#delimiter.length);
        return this.#skip(bytes, at);
      }
      case "after-delimiter":
        if (bytes.length - at < 2) return null;
        if (bytes[at] === 0x2d && bytes[at + 1] === 0x2d) return this.#go("epilogue", bytes.length);
        if (bytes[at] === CR && bytes[at + 1] === 0x0a) return this.#go("head", at);
        this.#fail("body_not_form", "a boundary is not followed by a line end", this.#heldAt + at);
        return null;
      case "head": {
        const end = find(bytes, at, encoder.encode("\r\n\r\n"));
        if (end === -1) {
          if (bytes.length - at > MAX_HEAD_BYTES) {
            this.#fail("body_not_form", "a part's head is too long", this.#heldAt + at);
          }
          return null;
        }
        this.#readHead(bytes.subarray(at, end), this.#heldAt + end + 4);
        return this.#go("content", end + 4);
      }
      case "content": {
        // An empty part: its head's empty line is also the start of the next delimiter.
        const found = find(bytes, at, this.#delimiter);
        if (found === -1) {
          const next = this.#skip(bytes, at);
          if (next !== null) this.#keep(bytes.subarray(at, next));
          return next;
        }
        this.#keep(bytes.subarray(at, found));
        this.#endField(this.#heldAt + found);
        return this.#go("after-delimiter", found + this.#delimiter.length);
      }
      case "epilogue":
        return null;
    }
  }

  #go(state: State, at: number): number {
    this.#state = state;
    return at;
  }

  /** Lets go of all but what may be the beginning of a delimiter; null when that is nothing. */
  #skip(bytes: Uint8Array, at: number): number | null {
    const next = bytes.length - this.#delimiter.length + 1;
    return next > at ? next : null;
  }

  #readHead(head: Uint8Array, contentAt: number): void {
    let text: string;
    try {
      text = decoder.decode(head);
    } catch {
      this.#fail("body_not_form", "a part's head is not UTF-8", contentAt);
      return;
    }
    const name = /^content-disposition:\s*form-data\b[^\r\n]*?;\s*name="([^"\r\n]*)"/im.exec(text)
      ?.[1];
    const isFile = /^content-disposition:[^\r\n]*;\s*filename\*?=/im.test(text);
    if (name === undefined || isFile || !SINGLE_FIELDS.has(name)) {
      this.#field = null;
      this.#value = null;
      return;
    }
    if (this.#seen.has(name)) {
      this.#fail("duplicate_key", `the field \`${name}\` appears twice; send it once`, contentAt);
    }
    this.#seen.add(name);
    this.#field = name;
    this.#value = { start: contentAt, bytes: [] };
  }

  #keep(bytes: Uint8Array): void {
    if (this.#value === null) return;
    if (this.#value.bytes.length + bytes.length > MAX_VALUE_BYTES) {
      const code = this.#field === "model" ? "model_too_long" : "field_invalid";
      this.#fail(code, `the field \`${this.#field}\` is too long`, this.#value.start);
      return;
    }
    this.#value.bytes.push(...bytes);
  }

  #endField(end: number): void {
    if (this.#value === null || this.#problem !== null) return;
    const { start, bytes } = this.#value;
    let text: string;
    try {
      text = decoder.decode(Uint8Array.from(bytes));
    } catch {
      text = "";
    }
    if (this.#field === "model") {
      if (text === "") {
        this.#fail("model_not_string", "the field `model` is not a usable name", start);
      } else this.#model = { name: text, span: { start, end } };
    } else this.#stream = text === "true" ? true : text === "false" ? false : null;
    this.#field = null;
    this.#value = null;
  }

  #fail(code: ScanCode, detail: string, at: number): ScanProblem {
    this.#problem ??= { code, detail, at };
    return this.#problem;
  }
}

function find(bytes: Uint8Array, from: number, wanted: Uint8Array): number {
  for (let at = from; at <= bytes.length - wanted.length; at++) {
    at = bytes.indexOf(wanted[0] as number, at);
    if (at === -1 || at > bytes.length - wanted.length) return -1;
    if (startsWith(bytes, at, wanted)) return at;
  }
  return -1;
}

function startsWith(bytes: Uint8Array, at: number, wanted: Uint8Array): boolean {
  for (let i = 0; i < wanted.length; i++) if (bytes[at + i] !== wanted[i]) return false;
  return true;
}
