/**
 * The last so many numbers of something, in a memory that never grows. A gap is a number too: what
 * was not told is not zero.
 *
 * @module
 */

/** The ring. */
export class Ring {
  readonly #values: Float32Array;
  #next = 0;
  #held = 0;

  constructor(size: number) {
    this.#values = new Float32Array(size);
  }

  /** How many are held. */
  get held(): number {
    return this.#held;
  }

  /** Takes one in; null is a gap. The oldest makes room. */
  push(value: number | null): void {
    this.#values[this.#next] = value ?? NaN;
    this.#next = (this.#next + 1) % this.#values.length;
    if (this.#held < this.#values.length) this.#held++;
  }

  /** Oldest first; null is a gap. */
  values(): readonly (number | null)[] {
    const size = this.#values.length;
    return Array.from({ length: this.#held }, (_, at) => {
      const value = this.#values[(this.#next - this.#held + at + size) % size] as number;
      return Number.isNaN(value) ? null : value;
    });
  }
}
