/**
 * Exactly so many bytes from a stream of chunks.
 *
 * @module
 */

/** What a stream had to give. */
export type Taken =
  | { readonly kind: "ok"; readonly bytes: Uint8Array<ArrayBuffer> }
  /** It ended first. */
  | { readonly kind: "ended"; readonly got: number }
  /** Whoever sends it failed. */
  | { readonly kind: "failed"; readonly cause: string };

/** Reads from `chunks`; nothing is buffered beyond one chunk. */
export class ByteSource {
  readonly #chunks: AsyncIterator<Uint8Array>;
  #rest: Uint8Array = new Uint8Array(0);

  constructor(chunks: AsyncIterable<Uint8Array>) {
    this.#chunks = chunks[Symbol.asyncIterator]();
  }

  /** The next `length` bytes. The caller has bounded `length`: it is allocated at once. */
  async take(length: number): Promise<Taken> {
    const bytes = new Uint8Array(length);
    let got = 0;
    while (got < length) {
      if (this.#rest.length === 0) {
        const more = await this.#more();
        if (more !== null) return more === "end" ? { kind: "ended", got } : more;
        continue;
      }
      const part = this.#rest.subarray(0, length - got);
      bytes.set(part, got);
      got += part.length;
      this.#rest = this.#rest.subarray(part.length);
    }
    return { kind: "ok", bytes };
  }

  /** True when nothing follows. */
  async isAtEnd(): Promise<boolean> {
    while (this.#rest.length === 0) {
      const more = await this.#more();
      if (more !== null) return more === "end";
    }
    return false;
  }

  /** Everything that follows, as it comes. */
  async *rest(): AsyncGenerator<Uint8Array, void, void> {
    for (;;) {
      if (this.#rest.length > 0) {
        const chunk = this.#rest;
        this.#rest = new Uint8Array(0);
        yield chunk;
      }
      const more = await this.#more();
      if (more === "end") return;
      if (more !== null) throw new Error(more.cause);
    }
  }

  async #more(): Promise<"end" | Extract<Taken, { kind: "failed" }> | null> {
    try {
      const next = await this.#chunks.next();
      if (next.done === true) return "end";
      this.#rest = next.value;
      return null;
    } catch (error) {
      return { kind: "failed", cause: error instanceof Error ? error.message : String(error) };
    }
  }
}
