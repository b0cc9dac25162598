/**
 * Reads a JSON request body as its bytes pass, without building it: finds where the value of the
 * top-level `model` stands and the few facts a tier may refuse, and says when it is not JSON.
 *
 * The router never re-serialises a body, so this is all it ever knows of one. Strings are skipped
 * with a native search: a 50 MiB base64 image costs about as much as copying it.
 *
 * Not a full validator: it checks structure, literals, short numbers and UTF-8-neutral quoting; what
 * stands inside strings is the engine's business. Keys it acts on are compared after unescaping
 * (`"mod\u0065l"` is `model`), and each of them may appear once: of two, engines pick different ones.
 *
 * An `answer` may be an object or an array, and no key of it means anything: it is whole or it is not.
 *
 * @module
 */

import {
  type BodyFacts,
  type BodyScan,
  CONTENT_KEYS,
  CONTENT_ROOTS,
  type Medium,
  MEDIUM_OF_PART,
  type ScanCode,
  type ScanProblem,
  SINGLE_KEYS,
  type Span,
} from "./body_facts.ts";
import {
  beginsNumber,
  type Expect,
  isScalarByte,
  oneOf,
  plainNumberEnd,
  scalarKind,
  shownByte,
  unescape,
} from "./json_scan_text.ts";

const MAX_DEPTH = 256;
const MAX_MODEL_BYTES = 1024;
/** No key we act on is longer, even with every character written as `\uXXXX`. */
const MAX_KEY_BYTES = 160;
const MAX_SCALAR_BYTES = 64;

const QUOTE = 0x22;
const BACKSLASH = 0x5c;

/** One open `{` or `[`. */
interface Container {
  readonly object: boolean;
  /** The key last read in it (objects), when short enough to matter. */
  key: string | null;
  /** True while its `type` keys name content parts. */
  readonly content: boolean;
}

/** Scans one body. Feed every chunk in order, then call {@link JsonScan.finish}. */
export class JsonScan implements BodyScan {
  readonly #isRequest: boolean;
  #expect: Expect = "value";
  readonly #open: Container[] = [];
  readonly #seen = new Set<string>();
  /** Bytes of earlier chunks. */
  #base = 0;
  #problem: ScanProblem | null = null;

  #inString = false;
  #escaped = false;
  #stringStart = 0;
  #stringIsKey = false;
  /** Bytes kept of the string being read; null when its text does not matter. */
  #kept: number[] | null = null;
  #keepAtMost = 0;

  /** The beginning of the number or literal being read. */
  #scalar: string | null = null;
  #scalarStart = 0;
  #scalarLong = false;

  #model: { name: string; span: Span } | null = null;
  #stream: boolean | null = null;
  #maxTokens: number | null = null;
  #tools = false;
  readonly #media = new Set<Medium>();

  constructor(of: "request" | "answer" = "request") {
    this.#isRequest = of === "request";
  }

  /** What is known after the bytes pushed so far. */
  get facts(): BodyFacts {
    return {
      model: this.#model,
      stream: this.#stream,
      maxTokens: this.#maxTokens,
      tools: this.#tools,
      media: this.#media,
    };
  }

  /** True once `model` has been read: enough to resolve a tier. */
  get hasModel(): boolean {
    return this.#model !== null;
  }

  /** True when the bytes so far are one whole JSON document of the kind expected. */
  get isComplete(): boolean {
    return this.#expect === "nothing" && this.#problem === null;
  }

  /** Takes the next bytes. Returns the first problem, and the same one ever after. */
  push(chunk: Uint8Array): ScanProblem | null {
    if (this.#problem !== null) return this.#problem;
    let i = 0;
    while (i < chunk.length && this.#problem === null) {
      i = this.#inString ? this.#skipString(chunk, i) : this.#token(chunk, i);
    }
    this.#base += chunk.length;
    return this.#problem;
  }

  /** Says whether the whole body was one JSON object with a usable `model`. */
  finish(): ScanProblem | null {
    if (this.#problem !== null) return this.#problem;
    if (this.#expect !== "nothing") {
      return this.#fail("body_truncated", "the body ends before its JSON does", this.#base);
    }
    if (this.#model === null) {
      return this.#fail("model_missing", "the body has no top-level `model`", this.#base);
    }
    return null;
  }

  #fail(code: ScanCode, detail: string, at: number): ScanProblem {
    this.#problem ??= { code, detail, at };
    return this.#problem;
  }

  /** Goes on inside a string; returns the index after what it consumed. */
  #skipString(chunk: Uint8Array, from: number): number {
    let i = from;
    while (i < chunk.length) {
      if (this.#escaped) {
        this.#escaped = false;
        this.#keep(chunk, i, i + 1);
        i++;
        continue;
      }
      const quote = chunk.indexOf(QUOTE, i);
      const end = quote === -1 ? chunk.length : quote;
      // An odd run of backslashes right before the quote escapes it; earlier ones are pairs or
      // escape something else, and neither opens nor closes anything.
      let run = 0;
      while (end - 1 - run >= i && chunk[end - 1 - run] === BACKSLASH) run++;
      this.#keep(chunk, i, end);
      if (run % 2 === 1) {
        this.#escaped = true;
        i = end;
        continue;
      }
      if (quote === -1) return chunk.length;
      this.#inString = false;
      this.#endString(this.#base + quote + 1);
      return quote + 1;
    }
    return i;
  }

  #keep(chunk: Uint8Array, from: number, to: number): void {
    if (this.#kept === null) return;
    if (this.#kept.length + (to - from) > this.#keepAtMost) {
      if (this.#isModelValue()) {
        this.#fail(
          "model_too_long",
          `the value of \`model\` is longer than ${MAX_MODEL_BYTES} bytes`,
          this.#stringStart,
        );
      }
      this.#kept = null;
      return;
    }
    for (let i = from; i < to; i++) this.#kept.push(chunk[i] as number);
  }

  #isModelValue(): boolean {
    return this.#isRequest && !this.#stringIsKey && this.#open.length === 1 &&
      this.#open[0]?.key === "model";
  }

  /** Reads one token, or goes on with a scalar; returns the index after it. */
  #token(chunk: Uint8Array, from: number): number {
    const byte = chunk[from] as number;
    if (isScalarByte(byte)) {
      let i = this.#plainNumber(chunk, from);
      if (i > from) return i;
      while (i < chunk.length && isScalarByte(chunk[i] as number)) i++;
      this.#growScalar(chunk.subarray(from, i), this.#base + from);
      return i;
    }
    const at = this.#base + from;
    if (this.#scalar !== null) {
      this.#endScalar();
      if (this.#problem !== null) return from;
    }
    switch (byte) {
      case 0x20:
      case 0x09:
      case 0x0a:
      case 0x0d:
        break;
      case QUOTE:
        this.#beginString(at);
        break;
      case 0x7b: // {
      case 0x5b: // [
        this.#beginContainer(byte === 0x7b, at);
        break;
      case 0x7d: // }
      case 0x5d: // ]
        this.#endContainer(byte === 0x7d, at);
        break;
      case 0x3a: // :
        if (this.#expect !== "colon") this.#unexpected(byte, at);
        else this.#expect = "value";
        break;
      case 0x2c: // ,
        if (this.#expect !== "comma") this.#unexpected(byte, at);
        else this.#expect = this.#open.at(-1)?.object ? "next-key" : "value";
        break;
      default:
        this.#unexpected(byte, at);
    }
    return from + 1;
  }

  #unexpected(byte: number, at: number): void {
    this.#fail("body_not_json", `the body is not JSON: unexpected ${shownByte(byte)}`, at);
  }

  #takesValue(): boolean {
    return this.#expect === "value" || this.#expect === "element";
  }

  #beginString(at: number): void {
    const isKey = this.#expect === "key" || this.#expect === "next-key";
    if (!isKey && !this.#takesValue()) return this.#unexpected(QUOTE, at);
    if (this.#open.length === 0) return this.#notObject(at);
    if (!isKey && this.#inTools()) this.#tools = true;
    this.#inString = true;
    this.#stringIsKey = isKey;
    this.#stringStart = at;
    const here = this.#open.at(-1) as Container;
    const matters = isKey
      ? this.#open.length === 1 || here.content
      : this.#isModelValue() || (here.content && here.key === "type");
    this.#kept = matters ? [] : null;
    this.#keepAtMost = this.#isModelValue() ? MAX_MODEL_BYTES : MAX_KEY_BYTES;
  }

  #endString(end: number): void {
    const text = this.#kept === null ? null : unescape(this.#kept);
    const here = this.#open.at(-1) as Container;
    if (this.#stringIsKey) {
      here.key = text;
      this.#expect = "colon";
      if (this.#isRequest && this.#open.length === 1 && text !== null && SINGLE_KEYS.has(text)) {
        if (this.#seen.has(text)) {
          this.#fail(
            "duplicate_key",
            `the top-level key \`${text}\` appears twice; send it once`,
            this.#stringStart,
          );
        }
        this.#seen.add(text);
      }
      return;
    }
    this.#expect = "comma";
    if (this.#open.length === 1) this.#topLevelString(here.key, text, end);
    else if (here.content && here.key === "type" && text !== null) {
      const medium = MEDIUM_OF_PART.get(text);
      if (medium !== undefined) this.#media.add(medium);
    }
  }

  #topLevelString(key: string | null, text: string | null, end: number): void {
    if (key === "model" && this.#isRequest) {
      if (text === null || text === "") {
        this.#fail("model_not_string", "`model` is not a usable name", this.#stringStart);
      } else this.#model = { name: text, span: { start: this.#stringStart, end } };
    } else this.#checkKind(key, "string", this.#stringStart);
  }

  /** Refuses a top-level value of a kind that the router could misread. */
  #checkKind(key: string | null, kind: string, at: number): void {
    if (!this.#isRequest || key === null || !SINGLE_KEYS.has(key)) return;
    if (kind === "null" && key !== "model") return;
    if (key === "model") {
      this.#fail("model_not_string", `\`model\` is ${oneOf(kind)}, expected a string`, at);
      return;
    }
    const wanted = key === "stream" ? "boolean" : key === "tools" ? "array" : "number";
    if (kind !== wanted) {
      this.#fail("field_invalid", `\`${key}\` is ${oneOf(kind)}, expected ${oneOf(wanted)}`, at);
    }
  }

  #beginContainer(object: boolean, at: number): void {
    if (!this.#takesValue()) return this.#unexpected(object ? 0x7b : 0x5b, at);
    const parent = this.#open.at(-1);
    if (parent === undefined && !object && this.#isRequest) return this.#notObject(at);
    if (this.#open.length >= MAX_DEPTH) {
      this.#fail("body_too_deep", `the body is nested deeper than ${MAX_DEPTH}`, at);
      return;
    }
    if (this.#open.length === 1) {
      this.#checkKind(parent?.key ?? null, object ? "object" : "array", at);
    }
    if (this.#inTools()) this.#tools = true;
    this.#open.push({ object, key: null, content: this.#isContent(parent) });
    this.#expect = object ? "key" : "element";
  }

  /** True when the value beginning now is an element of top-level `tools`. */
  #inTools(): boolean {
    return this.#open.length === 2 && this.#open[0]?.key === "tools" && !this.#open[1]?.object;
  }

  #isContent(parent: Container | undefined): boolean {
    if (parent === undefined) return false;
    if (this.#open.length === 1) return parent.key !== null && CONTENT_ROOTS.has(parent.key);
    return parent.content &&
      (!parent.object || parent.key !== null && CONTENT_KEYS.has(parent.key));
  }

  #endContainer(object: boolean, at: number): void {
    const here = this.#open.at(-1);
    const closable = this.#expect === "comma" || this.#expect === (object ? "key" : "element");
    if (here === undefined || here.object !== object || !closable) {
      return this.#unexpected(object ? 0x7d : 0x5d, at);
    }
    this.#open.pop();
    this.#expect = this.#open.length === 0 ? "nothing" : "comma";
  }

  #notObject(at: number): void {
    this.#fail("body_not_object", "the body is not a JSON object", at);
  }

  /** Takes a whole number that nothing depends on; returns the index after it, or `from`. */
  #plainNumber(chunk: Uint8Array, from: number): number {
    if (this.#scalar !== null || this.#open.length < 2 || !this.#takesValue()) return from;
    if (this.#inTools()) return from;
    const end = plainNumberEnd(chunk, from);
    if (end > from) this.#expect = "comma";
    return end;
  }

  #growScalar(bytes: Uint8Array, at: number): void {
    if (this.#scalar === null) {
      if (!this.#takesValue()) return this.#unexpected(bytes[0] as number, at);
      if (this.#open.length === 0) return this.#notObject(at);
      this.#scalar = "";
      this.#scalarStart = at;
      this.#scalarLong = false;
    }
    const room = MAX_SCALAR_BYTES - this.#scalar.length;
    if (bytes.length > room) this.#scalarLong = true;
    this.#scalar += String.fromCharCode(...bytes.subarray(0, room));
  }

  #endScalar(): void {
    const text = this.#scalar as string;
    const at = this.#scalarStart;
    this.#scalar = null;
    this.#expect = "comma";
    if (this.#inTools()) this.#tools = true;
    if (this.#scalarLong && beginsNumber(text)) {
      // A number of more than 64 digits is the engine's to judge, unless we act on it.
      if (this.#open.length === 1) this.#checkKind(this.#open[0]?.key ?? null, "long scalar", at);
      return;
    }
    const kind = scalarKind(text);
    if (kind === null) {
      this.#fail("body_not_json", `the body is not JSON: \`${text}\` is no value`, at);
      return;
    }
    if (this.#open.length !== 1) return;
    const key = this.#open[0]?.key ?? null;
    this.#checkKind(key, kind, at);
    if (this.#problem !== null) return;
    if (key === "stream" && kind === "boolean") this.#stream = text === "true";
    else if (kind === "number" && key !== null && SINGLE_KEYS.has(key)) {
      this.#maxTokens = Math.max(this.#maxTokens ?? 0, Number(text));
    }
  }
}
