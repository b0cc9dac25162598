/**
 * The request head as bytes. What it is given was made by us: a name, value or target that could
 * change the shape of the head is a bug, so it throws.
 *
 * @module
 */

import { putByteText } from "../core/byte_text.ts";
import { MESSAGE_HEADERS } from "../core/message_headers.ts";
import type { Endpoint, UpstreamAsk } from "./upstream.ts";

const NAME = /^[!#$%&'*+\-.^_`|~0-9a-z]+$/;
const VALUE = /^[\t\x20-\x7e\x80-\xff]*$/;
const TARGET = /^\/[\x21\x22\x24-\x7e]*$/;
const HOST = /^[0-9A-Za-z.:-]+$/;

/** What a `host` header says for `endpoint`: IPv6 in brackets, the port always. */
export function authority({ hostname, port }: Endpoint): string {
  if (!HOST.test(hostname)) throw new Error("endpoint: the hostname is not a literal address");
  if (!Number.isInteger(port) || port < 1 || port > 65535) {
    throw new Error(`endpoint: ${port} is not a port`);
  }
  return hostname.includes(":") ? `[${hostname}]:${port}` : `${hostname}:${port}`;
}

/** Throws when `ask` cannot be sent as it is: a bug of the caller. */
export function checkAsk(ask: UpstreamAsk): void {
  if (!TARGET.test(ask.target)) throw new Error("ask: the target is not in origin form");
  for (const [name, value] of ask.headers) {
    if (!NAME.test(name)) throw new Error("ask: a header name is not a lower-case token");
    if (MESSAGE_HEADERS.has(name)) throw new Error(`ask: ${name} is not the caller's to set`);
    if (!VALUE.test(value)) throw new Error(`ask: the value of ${name} holds a control character`);
  }
  const { body } = ask;
  if (body.kind === "none") return;
  if (ask.method === "GET") throw new Error("ask: a GET has no body");
  if (!Number.isSafeInteger(body.size) || body.size < 0) throw new Error("ask: impossible size");
  if (body.kind === "stream" && body.stream.locked) throw new Error("ask: the stream is locked");
  if (body.kind === "bytes") {
    let held = 0;
    for (const chunk of body.chunks) held += chunk.length;
    if (held !== body.size) throw new Error(`ask: ${held} bytes held, ${body.size} promised`);
  }
}

/**
 * The head of `ask` at the start of the buffer that `room` gives for a number of bytes, with `more`
 * bytes behind it for a small body. `bytes` is as long as both; `length` is the head's alone.
 */
export function requestHead(
  ask: UpstreamAsk,
  more: number,
  room: (size: number) => Uint8Array<ArrayBuffer>,
): { readonly bytes: Uint8Array<ArrayBuffer>; readonly length: number } {
  let text = `${ask.method} ${ask.target} HTTP/1.1\r\nhost: ${authority(ask.endpoint)}\r\n`;
  for (const [name, value] of ask.headers) text += `${name}: ${value}\r\n`;
  if (ask.body.kind !== "none") text += `content-length: ${ask.body.size}\r\n`;
  else if (ask.method === "POST") text += "content-length: 0\r\n";
  text += "\r\n";
  const bytes = room(text.length + more);
  putByteText(text, bytes, 0);
  return { bytes, length: text.length };
}
