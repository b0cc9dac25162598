/**
 * A connection in memory: it gives the pieces it was made of, one per read, once something was
 * written to it, and keeps what was written.
 *
 * @module
 */

import type { Conn } from "../relay/dial.ts";

/** How it goes on when the pieces are used up. */
export type MemoryEnd = "fin" | "reset" | "stay";

/** One scripted connection. */
export class MemoryConn implements Conn {
  /** Copies of what was written, one per write. */
  readonly writes: Uint8Array[] = [];
  closed = false;
  /** Bytes a write takes at most; 0 rejects it. */
  writeRoom = Number.POSITIVE_INFINITY;
  readonly #pieces: Uint8Array[];
  #end: MemoryEnd;
  #open = false;
  #wake: () => void = () => {};

  /** `pieces` are given only after the first write; `speak` gives more at any time. */
  constructor(pieces: readonly Uint8Array[], end: MemoryEnd) {
    this.#pieces = pieces.filter((piece) => piece.length > 0);
    this.#end = end;
  }

  /** Gives `bytes` to the next read, written to or not. */
  speak(bytes: Uint8Array, end: MemoryEnd = this.#end): void {
    if (bytes.length > 0) this.#pieces.push(bytes);
    this.#end = end;
    this.#open = true;
    this.#wake();
  }

  async read(into: Uint8Array<ArrayBuffer>): Promise<number | null> {
    for (;;) {
      if (this.closed) throw new Error("closed by us");
      if (this.#open) {
        const piece = this.#pieces.shift();
        if (piece !== undefined) {
          const count = Math.min(piece.length, into.length);
          into.set(piece.subarray(0, count));
          if (count < piece.length) this.#pieces.unshift(piece.subarray(count));
          return count;
        }
        if (this.#end === "fin") return null;
        if (this.#end === "reset") throw new Error("connection reset");
      }
      const { promise, resolve } = Promise.withResolvers<void>();
      this.#wake = resolve;
      await promise;
    }
  }

  async write(bytes: Uint8Array): Promise<number> {
    await Promise.resolve();
    if (this.closed || this.writeRoom === 0) throw new Error("broken pipe");
    const count = Math.min(bytes.length, this.writeRoom);
    this.writes.push(bytes.slice(0, count));
    this.#open = true;
    this.#wake();
    return count;
  }

  close(): void {
    this.closed = true;
    this.#wake();
  }
}
