/**
 * Small buffers cut from one large one. A buffer of its own costs several microseconds here,
 * whatever its size: its memory lies outside the heap and is tracked, zeroed and swept apart.
 *
 * @module
 */

/** Hands out parts of a block, one behind the other; none is ever handed out twice. */
export class Slab {
  readonly #blockSize: number;
  #block: Uint8Array<ArrayBuffer> = new Uint8Array(0);

  /** Blocks of `blockSize` bytes; each lives as long as any part of it. */
  constructor(blockSize: number) {
    this.#blockSize = blockSize;
  }

  /** `size` bytes for the caller alone; a buffer of its own where a quarter block would not do. */
  take(size: number): Uint8Array<ArrayBuffer> {
    if (size > this.#blockSize / 4) return new Uint8Array(size);
    if (size > this.#block.length) this.#block = new Uint8Array(this.#blockSize);
    const part = this.#block.subarray(0, size);
    this.#block = this.#block.subarray(size);
    return part;
  }
}
