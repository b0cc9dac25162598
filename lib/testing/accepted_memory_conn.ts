/**
 * An accepted connection in memory: the test is the client.
 *
 * @module
 */

import type { AcceptedConn } from "../intake/asked.ts";

/** Lets every promise that is due come to its end. */
export async function settle(turns = 50): Promise<void> {
  for (let turn = 0; turn < turns; turn++) await Promise.resolve();
}

/** One connection. Bytes are one character each. */
export class AcceptedMemoryConn implements AcceptedConn {
  /** What the server wrote, one text per write. */
  readonly writes: string[] = [];
  closed = false;
  halfClosed = false;
  /** While true, writes wait. */
  stalled = false;
  #pieces: Uint8Array[] = [];
  #end: "none" | "fin" | "reset" = "none";
  #reader: (() => void) | null = null;
  #writer: (() => void) | null = null;

  /** Everything the server wrote. */
  get received(): string {
    return this.writes.join("");
  }

  /** True while the server waits for bytes. */
  get isRead(): boolean {
    return this.#reader !== null;
  }

  /** The client sends, at most `step` bytes per read of the server. */
  send(text: string, step = Number.POSITIVE_INFINITY): void {
    const bytes = Uint8Array.from(text, (character) => character.charCodeAt(0));
    for (let at = 0; at < bytes.length; at += step) {
      this.#pieces.push(bytes.subarray(at, Math.min(bytes.length, at + step)));
    }
    this.#reader?.();
  }

  /** The client closes, or breaks the connection. */
  leave(how: "fin" | "reset" = "fin"): void {
    this.#end = how;
    this.#reader?.();
  }

  /** Writes go on. */
  flow(): void {
    this.stalled = false;
    this.#writer?.();
  }

  async read(into: Uint8Array<ArrayBuffer>): Promise<number | null> {
    if (this.#reader !== null) throw new Error("two reads at a time");
    if (into.length === 0) throw new Error("no room to read into");
    for (;;) {
      if (this.closed) throw new Error("closed by us");
      const piece = this.#pieces.shift();
      if (piece !== undefined) {
        const count = Math.min(piece.length, into.length);
        into.set(piece.subarray(0, count));
        if (count < piece.length) this.#pieces.unshift(piece.subarray(count));
        return count;
      }
      if (this.#end === "fin") return null;
      if (this.#end === "reset") throw new Error("connection reset");
      await new Promise<void>((resolve) => this.#reader = resolve);
      this.#reader = null;
    }
  }

  async write(bytes: Uint8Array): Promise<number> {
    if (this.#writer !== null) throw new Error("two writes at a time");
    const copy = bytes.slice();
    while (this.stalled && !this.closed) {
      await new Promise<void>((resolve) => this.#writer = resolve);
      this.#writer = null;
    }
    await Promise.resolve();
    if (this.closed || this.halfClosed || this.#end === "reset") throw new Error("broken pipe");
    this.writes.push(String.fromCharCode(...copy));
    return bytes.length;
  }

  closeWrite(): Promise<void> {
    if (this.closed) return Promise.reject(new Error("closed by us"));
    this.halfClosed = true;
    return Promise.resolve();
  }

  close(): void {
    this.closed = true;
    this.#reader?.();
    this.#writer?.();
  }
}
