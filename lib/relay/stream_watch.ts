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
  readonly data: readonly string[];
  /** An event line that begins so ends the stream. */
  readonly events: readonly string[];
  /** A data line that begins so reports an error. */
  readonly dataErrors: readonly string[];
  /** An event line that begins so reports an error. */
  readonly eventErrors: readonly string[];
  /** In OpenAI's older dialects a chunk with a finish reason may be the last. */
  readonly finishReason: boolean;
}

const OPENAI: Terminator = {
  data: ["[DONE]"],
  events: [],
  dataErrors: ['{"error":', '{"object":"error"', '{"object": "error"', '{"error" :'],
  eventErrors: ["error"],
  finishReason: true,
};

/** A dialect whose every event names its type, in the event line or first in the data. */
function typed(...ends: readonly string[]): Terminator {
  const data = (type: string) => [`{"type":"${type}"`, `{"type": "${type}"`];
  return {
    data: ends.flatMap(data),
    events: ends,
    dataErrors: data("error"),
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

const LINE_FEED = 0x0a;
const CARRIAGE_RETURN = 0x0d;
/** Bytes of a line's beginning that are looked at. */
const HEAD = 64;
/** Bytes kept of the end of each data line: usage stands at the end of the events that have it. */
const TAIL = 4096;
/** Data lines kept: a finish reason, a usage chunk and a terminator. */
const LINES_KEPT = 3;

const latin1 = new TextDecoder("latin1");
const utf8 = new TextDecoder();

/** Watches one stream of `dialect`. */
export class StreamWatch {
  readonly #terminator: Terminator | undefined;
  /** The beginning of the line being read. */
  readonly #head = new Uint8Array(HEAD);
  #headLength = 0;
  /** Length of the line so far. */
  #lineLength = 0;
  /** The end of the line so far, as copies of the chunks it came in. */
  #tail: Uint8Array[] = [];
  #tailLength = 0;
  #firstData: Uint8Array | null = null;
  readonly #lastData: Uint8Array[] = [];
  #terminated = false;
  #errorReported = false;
  #midEvent = false;

  constructor(dialect: Dialect) {
    this.#terminator = TERMINATORS[dialect];
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
    return this.#midEvent || this.#lineLength > 0;
  }

  /** Takes the next bytes; keeps no reference to them. */
  push(bytes: Uint8Array): void {
    let from = 0;
    while (from < bytes.length) {
      const feed = bytes.indexOf(LINE_FEED, from);
      const to = feed === -1 ? bytes.length : feed;
      if (to > from) this.#grow(bytes, from, to);
      if (feed === -1) return;
      this.#endLine();
      from = feed + 1;
    }
  }

  /** What the bytes so far say, should the stream end here. */
  end(): StreamEnd {
    const lines = this.#firstData === null ? [] : [this.#firstData, ...this.#lastData];
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
    if (this.#headLength < HEAD) {
      const more = Math.min(HEAD - this.#headLength, to - from);
      this.#head.set(bytes.subarray(from, from + more), this.#headLength);
      this.#headLength += more;
    }
    this.#lineLength += to - from;
    const kept = bytes.slice(Math.max(from, to - TAIL), to);
    this.#tail.push(kept);
    this.#tailLength += kept.length;
    while (
      this.#tail.length > 1 && this.#tailLength - (this.#tail[0] as Uint8Array).length >= TAIL
    ) {
      this.#tailLength -= (this.#tail.shift() as Uint8Array).length;
    }
  }

  #endLine(): void {
    const blank = this.#lineLength === 0 ||
      (this.#lineLength === 1 && this.#head[0] === CARRIAGE_RETURN);
    if (blank) this.#midEvent = false;
    else this.#readLine();
    this.#lineLength = 0;
    this.#headLength = 0;
    this.#tail = [];
    this.#tailLength = 0;
  }

  #readLine(): void {
    const first = this.#head[0];
    if (first === 0x3a) return; // a comment
    this.#midEvent = true;
    if (first !== 0x64 && first !== 0x65) return; // neither data nor event
    const head = latin1.decode(this.#head.subarray(0, this.#headLength));
    const terminator = this.#terminator;
    if (head.startsWith("data:")) {
      const data = head.startsWith("data: ") ? head.slice(6) : head.slice(5);
      this.#keepData(joined(this.#tail));
      if (terminator === undefined) return;
      if (begins(data, terminator.data)) this.#terminated = true;
      if (begins(data, terminator.dataErrors) && !/^\{"error" ?: ?null/.test(data)) {
        this.#errorReported = true;
      }
    } else if (head.startsWith("event:") && terminator !== undefined) {
      const name = head.slice(6).trim();
      if (terminator.events.includes(name)) this.#terminated = true;
      if (terminator.eventErrors.includes(name)) this.#errorReported = true;
    }
  }

  #keepData(line: Uint8Array): void {
    if (this.#firstData === null) {
      this.#firstData = line;
      return;
    }
    this.#lastData.push(line);
    if (this.#lastData.length > LINES_KEPT) this.#lastData.shift();
  }

  #finished(data: readonly string[]): boolean {
    if (this.#terminator?.finishReason !== true) return false;
    // A usage chunk has no choice in it; of several choices, the one still written comes last.
    const newest = data.findLast((line) => !/"choices"\s*:\s*\[\s*\]/.test(line)) ?? "";
    const reasons = [...newest.matchAll(/"finish_reason"\s*:\s*("[^"]*"|null)/g)];
    return reasons.length > 0 && reasons.every(([, reason]) => !NO_REASON.has(reason ?? ""));
  }
}

function begins(text: string, prefixes: readonly string[]): boolean {
  return prefixes.some((prefix) => text.startsWith(prefix));
}

function joined(pieces: readonly Uint8Array[]): Uint8Array {
  const [only] = pieces;
  if (pieces.length === 1 && only !== undefined) return only;
  const whole = new Uint8Array(pieces.reduce((sum, piece) => sum + piece.length, 0));
  let at = 0;
  for (const piece of pieces) {
    whole.set(piece, at);
    at += piece.length;
  }
  return whole;
}
