/**
 * The end of a line that comes in pieces. The buffer is used again for the next line, so that
 * watching a stream allocates nothing per event.
 *
 * @module
 */

/** Holds the last bytes of one line. */
export class LineTail {
  readonly #most: number;
  #bytes: Uint8Array;
  #length = 0;

  /** Keeps at most `most` bytes. */
  constructor(most: number) {
    this.#most = most;
    this.#bytes = new Uint8Array(Math.min(most, 256));
  }

  /** A view of what is held; true until the next change. */
  get bytes(): Uint8Array {
    return this.#bytes.subarray(0, this.#length);
  }

  /** Forgets the line. */
  clear(): void {
    this.#length = 0;
  }

  /** Adds `bytes[from, to)`; drops from the front what is too much. */
  append(bytes: Uint8Array, from: number, to: number): void {
    const start = Math.max(from, to - this.#most);
    const more = to - start;
    const dropped = this.#length + more - this.#most;
    if (dropped > 0) {
      this.#bytes.copyWithin(0, dropped, this.#length);
      this.#length -= dropped;
    }
    this.#ensure(this.#length + more);
    this.#bytes.set(bytes.subarray(start, to), this.#length);
    this.#length += more;
  }

  #ensure(length: number): void {
    if (this.#bytes.length >= length) return;
    const larger = new Uint8Array(Math.min(this.#most, Math.max(length, this.#bytes.length * 2)));
    larger.set(this.#bytes.subarray(0, this.#length));
    this.#bytes = larger;
  }
}
