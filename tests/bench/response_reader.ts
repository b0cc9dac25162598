/**
 * Reads answers off a connection as they come: head, then a body by Content-Length or in chunks.
 * Strict on purpose: what it does not understand makes the row invalid, not approximate.
 *
 * @module
 */

/** What the reader tells its owner. */
export interface Answer {
  /** `length` is null for a chunked body. */
  head(status: number, length: number | null, head: string): void;
  /** Body bytes `[from, to)` of `bytes`, reused after the call. */
  body(bytes: Uint8Array, from: number, to: number): void;
  end(): void;
}

type State = "head" | "sized" | "size" | "data" | "data_end" | "trailer" | "broken";

const CR = 13;
const LF = 10;

/** One per connection; keep-alive answers follow each other. */
export class ResponseReader {
  #state: State = "head";
  #head = "";
  #left = 0;
  #line = "";

  constructor(private readonly answer: Answer) {}

  /** True once something was seen that is no HTTP/1.1 answer with a stated length. */
  get broken(): boolean {
    return this.#state === "broken";
  }

  feed(bytes: Uint8Array, length: number): void {
    let at = 0;
    while (at < length && this.#state !== "broken") at = this.#step(bytes, at, length);
  }

  #step(bytes: Uint8Array, at: number, length: number): number {
    switch (this.#state) {
      case "head":
        return this.#readHead(bytes, at, length);
      case "sized":
      case "data": {
        const to = Math.min(length, at + this.#left);
        this.answer.body(bytes, at, to);
        this.#left -= to - at;
        if (this.#left === 0) {
          if (this.#state === "data") this.#state = "data_end";
          else this.#finish();
        }
        return to;
      }
      default:
        return this.#readLine(bytes, at, length);
    }
  }

  #readHead(bytes: Uint8Array, at: number, length: number): number {
    let to = at;
    while (to < length) {
      if (bytes[to++] !== LF) continue;
      const ends = to - at >= 4
        ? bytes[to - 2] === CR && bytes[to - 3] === LF && bytes[to - 4] === CR
        : (this.#head + latin1(bytes, at, to)).endsWith("\r\n\r\n");
      if (!ends) continue;
      this.#begin(this.#head + latin1(bytes, at, to));
      return to;
    }
    this.#head += latin1(bytes, at, length);
    if (this.#head.length > 65_536) this.#state = "broken";
    return length;
  }

  #begin(head: string): void {
    this.#head = "";
    const status = /^HTTP\/1\.1 (\d{3})/.exec(head);
    const length = /\r\ncontent-length: *(\d+)/i.exec(head);
    const chunked = /\r\ntransfer-encoding: *chunked/i.test(head);
    if (status === null || (length === null) !== chunked) {
      this.#state = "broken";
      return;
    }
    this.#left = length === null ? 0 : Number(length[1]);
    this.answer.head(Number(status[1]), length === null ? null : this.#left, head);
    this.#state = chunked ? "size" : "sized";
    if (!chunked && this.#left === 0) this.#finish();
  }

  #readLine(bytes: Uint8Array, at: number, length: number): number {
    let to = at;
    while (to < length && bytes[to] !== LF) to++;
    this.#line += latin1(bytes, at, to);
    if (to === length) return length;
    const line = this.#line.replace(/\r$/, "");
    this.#line = "";
    if (this.#state === "data_end") {
      this.#state = line === "" ? "size" : "broken";
    } else if (this.#state === "trailer") {
      if (line === "") this.#finish();
    } else if (/^[0-9a-fA-F]{1,8}$/.test(line)) {
      this.#left = parseInt(line, 16);
      this.#state = this.#left === 0 ? "trailer" : "data";
    } else {
      this.#state = "broken";
    }
    return to + 1;
  }

  #finish(): void {
    this.#state = "head";
    this.answer.end();
  }
}

const decoder = new TextDecoder("latin1");

/** Bytes as text, one character each. */
export function latin1(bytes: Uint8Array, from: number, to: number): string {
  return decoder.decode(bytes.subarray(from, to));
}
