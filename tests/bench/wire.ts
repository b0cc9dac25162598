/**
 * What goes over the wire in the bench: requests, answers and stream events of fixed shape, so that
 * writing one is patching digits into a template, and checking one is comparing bytes.
 *
 * The instruction to the upstream travels in the first message's text (`bench:KIND:...`), because that
 * is the one place every relay hands on, whatever it parses and writes anew.
 *
 * @module
 */

const encoder = new TextEncoder();

/** The model name asked for, and the one the upstream serves. */
export const MODEL = "bench-model";

const JSON_BYTES = 1024;

/** Eight digits: the numbers of requests and streams on the wire. */
export function digits(value: number, width: number): string {
  return String(Math.trunc(value)).padStart(width, "0").slice(-width);
}

/** Writes a number as `width` ASCII digits at `at`. */
export function patch(bytes: Uint8Array, at: number, width: number, value: number): void {
  let rest = Math.trunc(value);
  for (let i = at + width - 1; i >= at; i--) {
    bytes[i] = 48 + rest % 10;
    rest = Math.trunc(rest / 10);
  }
}

/** Reads `width` ASCII digits at `at`; NaN when one of them is no digit. */
export function read(bytes: Uint8Array, at: number, width: number): number {
  let value = 0;
  for (let i = at; i < at + width; i++) {
    const digit = (bytes[i] ?? 0) - 48;
    if (digit < 0 || digit > 9) return NaN;
    value = value * 10 + digit;
  }
  return value;
}

/** Where `text` begins in `bytes`, or -1. */
export function find(bytes: Uint8Array, length: number, text: string, from = 0): number {
  const first = text.charCodeAt(0);
  outer:
  for (let i = from; i + text.length <= length; i++) {
    if (bytes[i] !== first) continue;
    for (let j = 1; j < text.length; j++) if (bytes[i + j] !== text.charCodeAt(j)) continue outer;
    return i;
  }
  return -1;
}

/** A chat request's body of at least `least` bytes, padded inside the message. */
export function chatBody(instruction: string, stream: boolean, least: number): string {
  const head = `{"model":"${MODEL}","messages":[{"role":"user","content":"${instruction} `;
  const tail = `"}],"stream":${stream}}`;
  return head + "a".repeat(Math.max(0, least - head.length - tail.length)) + tail;
}

/** A whole request, or only its head when `bodyLength` is given instead of a body. */
export function request(
  headers: Readonly<Record<string, string>>,
  body: string | { readonly length: number },
): Uint8Array<ArrayBuffer> {
  const lines = Object.entries({
    host: "127.0.0.1",
    "user-agent": "anvil-bench",
    accept: "*/*",
    "content-type": "application/json",
    ...headers,
    "content-length": String(body.length),
  }).map(([name, value]) => `${name}: ${value}\r\n`).join("");
  const head = `POST /v1/chat/completions HTTP/1.1\r\n${lines}\r\n`;
  return encoder.encode(typeof body === "string" ? head + body : head);
}

/** A template whose number can be patched in place. */
export interface Numbered {
  readonly bytes: Uint8Array<ArrayBuffer>;
  /** Where the eight digits are. */
  readonly at: number;
}

/** The 1 KiB request. */
export function jsonRequest(headers: Readonly<Record<string, string>>): Numbered {
  const bytes = request(headers, chatBody("bench:json:00000000:", false, JSON_BYTES));
  return { bytes, at: find(bytes, bytes.length, "bench:json:") + 11 };
}

/** The 1 KiB answer's body. */
export function jsonAnswerBody(): Numbered {
  const head = `{"id":"chatcmpl-00000000","object":"chat.completion","created":1700000000,` +
    `"model":"${MODEL}","choices":[{"index":0,"message":{"role":"assistant","content":"`;
  const tail = `"},"finish_reason":"stop"}],` +
    `"usage":{"prompt_tokens":9,"completion_tokens":9,"total_tokens":18}}`;
  const body = head + "b".repeat(JSON_BYTES - head.length - tail.length) + tail;
  return { bytes: encoder.encode(body), at: 16 };
}

/** An answer with a Content-Length. */
export function answer(body: string): Uint8Array<ArrayBuffer> {
  return encoder.encode(answerHead(body.length) + body);
}

/** The head of a JSON answer. */
export function answerHead(length: number): string {
  return "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n" +
    `content-length: ${length}\r\n\r\n`;
}

/** The head of a stream. */
export const STREAM_HEAD: Uint8Array<ArrayBuffer> = encoder.encode(
  "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ncache-control: no-cache\r\n" +
    "transfer-encoding: chunked\r\n\r\n",
);

function chunkEvent(delta: string, finish: string): string {
  return `data: {"id":"chatcmpl-bench","object":"chat.completion.chunk","created":1700000000,` +
    `"model":"${MODEL}","choices":[{"index":0,"delta":${delta},"finish_reason":${finish}}]}\n\n`;
}

/** One event as the client sees it: stream (4 digits), sequence (8), send time in us (16). */
export const EVENT: Uint8Array<ArrayBuffer> = encoder.encode(
  chunkEvent(`{"content":"bench 0000 00000000 0000000000000000"}`, "null"),
);
const MARK = find(EVENT, EVENT.length, "bench ");
/** Where the numbers of an event are. */
export const EVENT_AT = { stream: MARK + 6, sequence: MARK + 11, sent: MARK + 20 } as const;
/** The last event that carries a choice. */
export const FINISH: string = chunkEvent("{}", `"stop"`);
/** The stream's terminator. */
export const DONE = "data: [DONE]\n\n";

/** `bytes` as one chunk of a chunked body. */
export function chunk(text: string): Uint8Array<ArrayBuffer> {
  return encoder.encode(`${text.length.toString(16)}\r\n${text}\r\n`);
}

/** How an event compares with the template: its numbers, or null when any other byte differs. */
export function readEvent(
  bytes: Uint8Array,
  from: number,
  to: number,
): { readonly stream: number; readonly sequence: number; readonly sent: number } | null {
  if (to - from !== EVENT.length) return null;
  for (let i = 0; i < EVENT.length; i++) {
    if (bytes[from + i] !== EVENT[i] && (i < EVENT_AT.stream || i >= EVENT_AT.sent + 16)) {
      return null;
    }
  }
  const stream = read(bytes, from + EVENT_AT.stream, 4);
  const sequence = read(bytes, from + EVENT_AT.sequence, 8);
  const sent = read(bytes, from + EVENT_AT.sent, 16);
  return Number.isNaN(stream + sequence + sent) ? null : { stream, sequence, sent };
}

/** FNV-like sum of bytes, to be continued over pieces; proves an upload arrived as it was sent. */
export function sum(seed: number, bytes: Uint8Array, from: number, to: number): number {
  let value = seed;
  for (let i = from; i < to; i++) value = (Math.imul(value, 31) + (bytes[i] ?? 0)) | 0;
  return value;
}
