/**
 * Chance that can be had again: a small generator, seeded by a text.
 *
 * @module
 */

/** Numbers that look like chance and depend on the seed alone (mulberry32 over an FNV-1a hash). */
export class SeededRandom {
  #state: number;

  constructor(seed: string) {
    let hash = 0x811c9dc5;
    for (const byte of new TextEncoder().encode(seed)) {
      hash = Math.imul(hash ^ byte, 0x01000193) >>> 0;
    }
    this.#state = hash;
  }

  /** At least 0, below 1. */
  next(): number {
    this.#state = (this.#state + 0x6d2b79f5) >>> 0;
    let t = this.#state;
    t = Math.imul(t ^ (t >>> 15), t | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
  }

  /** A whole number, both ends included. */
  whole(least: number, most: number): number {
    return least + Math.floor(this.next() * (most - least + 1));
  }

  chance(of: number): boolean {
    return this.next() < of;
  }

  pick<T>(among: readonly T[]): T {
    const picked = among[this.whole(0, among.length - 1)];
    if (picked === undefined) throw new Error("nothing to pick from");
    return picked;
  }

  /** One of `rows`, the heavier the likelier. */
  weighted<T extends { readonly weight: number }>(rows: readonly T[]): T {
    let at = this.next() * rows.reduce((sum, { weight }) => sum + weight, 0);
    for (const row of rows) {
      at -= row.weight;
      if (at < 0) return row;
    }
    return this.pick(rows);
  }
}
