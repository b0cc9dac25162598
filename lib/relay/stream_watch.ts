/**
 * Watches a server-sent event stream pass, and knows at its end whether it was whole.
 *
 *     bytes ──lines──> data lines ──> ended: the dialect's terminator was seen
 *                                 ──> failed: the engine itself reported an error in band
 *                                 ──> neither: the stream was cut, whatever the transport says
 *
 * It looks at the start of each line and copies only the last few data lines; nothing is parsed
 * while the stream runs, and nothing is ever changed.
 *
 * @module
 */

import type { Dialect } from "./dialect.ts";
import { LineTail } from "./line_tail.ts";

/** What the end of a stream says. */
export interface StreamEnd {
  /** The dialect's terminator was seen: nothing comes after it. */
  readonly terminated: boolean;
  /** The newest choice gave its reason to finish: the end, unless the connection broke after it. */
  readonly finished: boolean;
  /** The engine reported an error in the stream. */
  readonly errorReported: boolean;
  /** The last line was not finished. */
  readonly midLine: boolean;
  /** The last event was not finished by its empty line. */
  readonly midEvent: boolean;
  /** The first data line and the last ones, oldest first: where engines state usage. */
  readonly data: readonly string[];
}

/** True when nothing is missing: the end was said, and the event that says it was finished. */
export function isWhole(end: StreamEnd): boolean {
  return (end.terminated || end.finished) && !end.midEvent;
}

/** Where the terminator of a dialect stands, and how it reads. */
interface Terminator {
  /** A data line that begins so ends the stream. */
  readonly data: readonly Uint8Array[];
  /** An event line that begins so ends the stream. */
  readonly events: readonly string[];
  /** A data line that begins so reports an error. */
  readonly dataErrors: readonly Uint8Array[];
  /** An event line that begins so reports an error. */
  readonly eventErrors: readonly string[];
  /** In OpenAI's older dialects a chunk with a finish reason may be the last. */
  readonly finishReason: boolean;
}

const encoder = new TextEncoder();
const encoded = (texts: readonly string[]) => texts.map((text) => encoder.encode(text));

const OPENAI: Terminator = {
  data: encoded(["[DONE]"]),
  events: [],
  dataErrors: encoded(['{"error":', '{"object":"error"', '{"object": "error"', '{"error" :']),
  eventErrors: ["error"],
  finishReason: true,
};

/** A dialect whose every event names its type, in the event line or first in the data. */
function typed(...ends: readonly string[]): Terminator {
  const data = (type: string) => [`{"type":"${type}"`, `{"type": "${type}"`];
  return {
    data: encoded(ends.flatMap(data)),
    events: ends,
    dataErrors: encoded(data("error")),
    eventErrors: ["error"],
    finishReason: false,
  };
}

/** Dialects that stream events, and how each of them ends. */
const TERMINATORS: Partial<Record<Dialect, Terminator>> = {
  "openai-chat": OPENAI,
  "openai-completions": OPENAI,
  "anthropic-messages": typed("message_stop"),
  "openai-speech": typed("speech.audio.done"),
  "openai-transcriptions": typed("transcript.text.done"),
  "openai-responses": typed("response.completed", "response.failed", "response.incomplete"),
};

/** What engines write as the finish reason of a choice that has not finished. */
const NO_REASON: ReadonlySet<string> = new Set(["null", '""', '"null"']);

const DATA = encoder.encode("data:");
const EVENT = encoder.encode("event:");
const SPACE = 0x20;
const LINE_FEED = 0x0a;
const CARRIAGE_RETURN = 0x0d;
/** Bytes of a line's beginning that are looked at. */
const HEAD = 64;
/** Bytes kept of the end of each data line: usage stands at the end of the events that have it. */
const TAIL = 4096;
/** Data lines kept: a finish reason, a usage chunk and a terminator. */
const LINES_KEPT = 3;

const utf8 = new TextDecoder();

/** Watches one stream of `dialect`. */
export class StreamWatch {
  readonly #terminator: Terminator | undefined;
  /** The beginning of the line being read. */
  readonly #head = new Uint8Array(HEAD);
  #headLength = 0;
  /** Length of the line so far. */
  #lineLength = 0;
  /** The line so far, and after it the data lines kept, newest first; used over and over. */
  readonly #tails: LineTail[] = [];
  #dataLines = 0;
  #firstData: Uint8Array | null = null;
  #terminated = false;
  #errorReported = false;
  #midEvent = false;
  #open = 0;

  constructor(dialect: Dialect) {
    this.#terminator = TERMINATORS[dialect];
    for (let i = 0; i <= LINES_KEPT; i++) this.#tails.push(new LineTail(TAIL));
  }

  /** True once the terminator has been seen. */
  get terminated(): boolean {
    return this.#terminated;
  }

  /** False for dialects whose streams, if any, end with their transport. */
  get needsTerminator(): boolean {
    return this.#terminator !== undefined;
  }

  /** True while an event has begun and its empty line has not come. */
  get midEvent(): boolean {
    return this.#open > 0;
  }

  /** How many of the last bytes belong to an event, or a line, that has not ended. */
  get open(): number {
    return this.#open;
  }

  /** True while the line being read would end the stream if it were finished. */
  get midTerminator(): boolean {
    return this.#lineLength > 0 && this.#headBegins(0, DATA) &&
      (this.#terminator?.data ?? []).some((prefix) => this.#headBegins(this.#dataAt, prefix));
  }

  /** Takes the next bytes; keeps no reference to them. */
  push(bytes: Uint8Array): void {
    let from = 0;
    this.#open += bytes.length;
    while (from < bytes.length) {
      const feed = bytes.indexOf(LINE_FEED, from);
      const to = feed === -1 ? bytes.length : feed;
      if (to > from) this.#grow(bytes, from, to);
      if (feed === -1) return;
      this.#endLine();
      from = feed + 1;
      if (!this.#midEvent) this.#open = bytes.length - from;
    }
  }

  /** What the bytes so far say, should the stream end here. */
  end(): StreamEnd {
    const kept = this.#tails.slice(1, 1 + Math.min(this.#dataLines, LINES_KEPT)).reverse();
    const lines = kept.map((tail) => tail.bytes);
    // The first line stands among the last ones until there are more than those.
    if (this.#firstData !== null && this.#dataLines > LINES_KEPT) lines.unshift(this.#firstData);
    const data = lines.map((line) => utf8.decode(line));
    return {
      terminated: this.#terminated,
      finished: this.#finished(data),
      errorReported: this.#errorReported,
      midLine: this.#lineLength > 0,
      midEvent: this.midEvent,
      data,
    };
  }

  #grow(bytes: Uint8Array, from: number, to: number): void {
    for (let i = from; i < to && this.#headLength < HEAD; i++) {
      this.#head[this.#headLength++] = bytes[i] as number;
    }
    this.#lineLength += to - from;
    (this.#tails[0] as LineTail).append(bytes, from, to);
  }

  #endLine(): void {
    const blank = this.#lineLength === 0 ||
      (this.#lineLength === 1 && this.#head[0] === CARRIAGE_RETURN);
    if (blank) this.#midEvent = false;
    else this.#readLine();
    this.#lineLength = 0;
    this.#headLength = 0;
    (this.#tails[0] as LineTail).clear();
  }

  #readLine(): void {
    const first = this.#head[0];
    if (first === 0x3a) return; // a comment
    this.#midEvent = true;
    if (first !== 0x64 && first !== 0x65) return; // neither data nor event
    const terminator = this.#terminator;
    if (this.#headBegins(0, DATA)) {
      if (terminator !== undefined) this.#readData(terminator, this.#dataAt);
      this.#keepData();
    } else if (this.#headBegins(0, EVENT) && terminator !== undefined) {
      const name = this.#headText(EVENT.length).trim();
      if (terminator.events.includes(name)) this.#terminated = true;
      if (terminator.eventErrors.includes(name)) this.#errorReported = true;
    }
  }

  #readData({ data, dataErrors }: Terminator, at: number): void {
    if (data.some((prefix) => this.#headBegins(at, prefix))) this.#terminated = true;
    else if (
      dataErrors.some((prefix) => this.#headBegins(at, prefix)) &&
      !/^\{"error" ?: ?null/.test(this.#headText(at))
    ) this.#errorReported = true;
  }

  /** Puts the line just read among those kept; the oldest of them becomes the next line's buffer. */
  #keepData(): void {
    this.#firstData ??= (this.#tails[0] as LineTail).bytes.slice();
    this.#dataLines++;
    this.#tails.unshift(this.#tails.pop() as LineTail);
  }

  /** Where a data line's text begins. */
  get #dataAt(): number {
    return this.#head[DATA.length] === SPACE ? DATA.length + 1 : DATA.length;
  }

  #headBegins(at: number, prefix: Uint8Array): boolean {
    if (this.#headLength - at < prefix.length) return false;
    for (let i = 0; i < prefix.length; i++) if (this.#head[at + i] !== prefix[i]) return false;
    return true;
  }

  #headText(from: number): string {
    return String.fromCharCode(...this.#head.subarray(from, this.#headLength));
  }

  #finished(data: readonly string[]): boolean {
    if (this.#terminator?.finishReason !== true) return false;
    // A usage chunk has no choice in it; of several choices, the one still written comes last.
    const newest = data.findLast((line) => !/"choices"\s*:\s*\[\s*\]/.test(line)) ?? "";
    const reasons = [...newest.matchAll(/"finish_reason"\s*:\s*("[^"]*"|null)/g)];
    return reasons.length > 0 && reasons.every(([, reason]) => !NO_REASON.has(reason ?? ""));
  }
}
