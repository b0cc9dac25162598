/**
 * One connection and the bytes read from it that nobody has taken yet.
 *
 * @module
 */

import { HEAD_LIMIT } from "./http1_head.ts";
import type { Conn } from "./dial.ts";

/** Enough for any usual head and the first bytes of its body; a larger head makes it grow once. */
const BUFFER = 4 * 1024;

/** Enough for most heads with a small body behind them. */
const OUT = 4 * 1024;

/** What a read gave: a count, null at FIN, or how the connection broke. */
export type Got = number | null | { readonly cause: string };

/** A connection with its buffer. One owner at a time: an exchange, or the idle pool. */
export class Line {
  readonly conn: Conn;
  buffer: Uint8Array<ArrayBuffer> = new Uint8Array(BUFFER);
  /** Bytes in `[start, end)` of the buffer wait to be taken. */
  start = 0;
  end = 0;
  /** When it went idle; the pool's own. */
  idleSince = 0;
  #out: Uint8Array<ArrayBuffer> = new Uint8Array(0);
  #pending: Promise<Got> | null = null;

  constructor(conn: Conn) {
    this.conn = conn;
  }

  /** True while bytes wait in the buffer. */
  get holds(): boolean {
    return this.end > this.start;
  }

  /**
   * Reads more behind `end`. A read that was left pending while the line was idle is this read:
   * what it brings is in the buffer, where the next head is looked for.
   */
  async fill(): Promise<Got> {
    const reading = this.#pending ?? this.#read();
    this.#pending = null;
    const got = await reading;
    if (typeof got === "number") this.end += got;
    return got;
  }

  /** Moves waiting bytes to the start of `into`; gives how many. */
  take(into: Uint8Array): number {
    const count = Math.min(this.end - this.start, into.length);
    if (count > 0) {
      into.set(this.buffer.subarray(this.start, this.start + count));
      this.start += count;
    }
    return count;
  }

  /** Keeps a read pending while idle; `ended` is called if it gives anything before `fill` takes it. */
  watch(ended: () => void): void {
    this.start = this.end = 0;
    const reading = this.#read();
    this.#pending = reading;
    reading.then(() => {
      if (this.#pending === reading) ended();
    });
  }

  /** `size` bytes to write a request from; the same ones again for the next request on this line. */
  room(size: number): Uint8Array<ArrayBuffer> {
    if (this.#out.length < size) this.#out = new Uint8Array(Math.max(size, OUT));
    return this.#out.subarray(0, size);
  }

  close(): void {
    this.conn.close();
  }

  async #read(): Promise<Got> {
    if (this.end === this.buffer.length) this.#grow();
    try {
      return await this.conn.read(
        this.end === 0 ? this.buffer : this.buffer.subarray(this.end),
      );
    } catch (error) {
      return { cause: String(error) };
    }
  }

  #grow(): void {
    if (this.buffer.length >= HEAD_LIMIT) throw new Error("line: filled beyond the head limit");
    const larger = new Uint8Array(HEAD_LIMIT);
    larger.set(this.buffer);
    this.buffer = larger;
  }
}
