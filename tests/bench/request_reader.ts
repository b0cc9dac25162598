/**
 * Reads requests off a relay's connection: just enough HTTP/1.1 for the bench. Bodies need a
 * Content-Length, as the strictest engines ask; chunked ones are refused with 411.
 *
 * @module
 */

import { latin1 } from "./response_reader.ts";
import { find } from "./wire.ts";

/** What the reader tells its owner. */
export interface Asked {
  begin(): void;
  /** A piece of a large body, reused after the call. */
  piece(bytes: Uint8Array, from: number, to: number): void;
  /** The request is whole: its first line, its instruction without `bench:`, its body's length. */
  end(line: string, instruction: string, length: number): void;
  refuse(status: string): void;
}

/** Bodies above this are summed as they come; smaller ones are of no interest beyond the instruction. */
const LARGE = 64 * 1024;
/** The instruction stands within this many bytes of a body. */
const PREFIX = 256;

/** One per connection. */
export class RequestReader {
  #pending: Uint8Array = new Uint8Array(0);
  #line = "";
  #instruction = "";
  #length = 0;
  #left = 0;
  #inBody = false;

  constructor(private readonly asked: Asked) {}

  feed(buffer: Uint8Array, length: number): void {
    let bytes = buffer;
    let to = length;
    if (this.#pending.length > 0) {
      bytes = new Uint8Array(this.#pending.length + length);
      bytes.set(this.#pending);
      bytes.set(buffer.subarray(0, length), this.#pending.length);
      to = bytes.length;
      this.#pending = new Uint8Array(0);
    }
    let at = 0;
    while (at < to) {
      const next = this.#inBody ? this.#readBody(bytes, at, to) : this.#readHead(bytes, at, to);
      if (next === at) break;
      at = next;
    }
    if (at < to) this.#pending = bytes.slice(at, to);
  }

  /** The head and, of the body, as much as holds the instruction; `at` again when there is too little. */
  #readHead(bytes: Uint8Array, at: number, to: number): number {
    const gap = find(bytes, to, "\r\n\r\n", at);
    if (gap < 0) return at;
    const head = latin1(bytes, at, gap + 2);
    const body = gap + 4;
    if (/\r\ntransfer-encoding:/i.test(head)) {
      this.asked.refuse("411 Length Required");
      return to;
    }
    const length = Number(/\r\ncontent-length: *(\d+)/i.exec(head)?.[1] ?? 0);
    if (to - body < Math.min(length, PREFIX)) return at;
    const prefix = latin1(bytes, body, body + Math.min(length, PREFIX));
    this.#line = head.slice(0, head.indexOf("\r\n"));
    this.#instruction = /bench:([a-z]+(?::\d+)*)/.exec(prefix)?.[1] ?? "";
    this.#length = length;
    this.#left = length;
    this.asked.begin();
    if (length === 0) this.asked.end(this.#line, this.#instruction, 0);
    else this.#inBody = true;
    return body;
  }

  #readBody(bytes: Uint8Array, at: number, to: number): number {
    const end = Math.min(to, at + this.#left);
    if (this.#length > LARGE) this.asked.piece(bytes, at, end);
    this.#left -= end - at;
    if (this.#left === 0) {
      this.#inBody = false;
      this.asked.end(this.#line, this.#instruction, this.#length);
    }
    return end;
  }
}
