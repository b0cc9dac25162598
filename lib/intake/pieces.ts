/**
 * Small buffers of one size, cut from large ones and used again. A buffer of its own costs several
 * microseconds in this runtime whatever its size; thousands of connections need one each.
 *
 * @module
 */

/** Bytes of a piece: any usual head with a small body behind it. */
export const PIECE = 4 * 1024;

const PIECES_PER_BLOCK = 16;

/** Pieces kept for the next one; more are left to the collector. */
const MOST_FREE = 1024;

/** Hands out pieces and takes them back. */
export class Pieces {
  readonly #free: Uint8Array<ArrayBuffer>[] = [];

  /** A piece for the caller alone; what is in it is left over from somebody else. */
  take(): Uint8Array<ArrayBuffer> {
    if (this.#free.length === 0) {
      const block = new Uint8Array(PIECE * PIECES_PER_BLOCK);
      for (let at = 0; at < block.length; at += PIECE) {
        this.#free.push(block.subarray(at, at + PIECE));
      }
    }
    return this.#free.pop() as Uint8Array<ArrayBuffer>;
  }

  /** Takes back what nobody reads or writes any more. What is no piece is let go. */
  give(bytes: Uint8Array<ArrayBuffer>): void {
    if (bytes.length === PIECE && this.#free.length < MOST_FREE) this.#free.push(bytes);
  }
}
