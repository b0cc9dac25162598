/**
 * A request body that `fetch` streams with a `content-length` and never sends twice.
 *
 * @module
 */

import type { UpstreamAsk, UpstreamBody } from "../relay/upstream.ts";

/**
 * The body of `ask`. Null when it is empty: a Blob of size 0 would go chunked. The library sends a
 * request without a body again when a pooled connection closes on it, so such are for probes.
 */
export function bodyOf({ body, method }: UpstreamAsk): SizedBody | null {
  if (body.kind !== "none" && method === "GET") throw new Error("ask: a GET has no body");
  if (body.kind === "none") return null;
  if (body.size > 0) return new SizedBody(body);
  if (body.kind === "stream") body.stream.cancel().catch(() => {});
  return null;
}

/** A Blob in name: `fetch` asks it for its size and its stream, and both are ours. */
export class SizedBody extends Blob {
  readonly #size: number;
  readonly #next: () => Promise<Uint8Array | null>;
  readonly #cancel: () => void;
  #left: number;
  #abandoned = false;
  /** Why the body is not what it promised to be, once it is not. */
  failure: string | null = null;

  constructor(body: UpstreamBody) {
    super();
    this.#size = this.#left = body.kind === "none" ? 0 : body.size;
    if (body.kind === "stream") {
      const reader = body.stream.getReader();
      this.#next = async () => (await reader.read()).value ?? null;
      this.#cancel = () => void reader.cancel().catch(() => {});
    } else {
      const chunks = body.kind === "bytes" ? body.chunks.values() : [].values();
      this.#next = () => Promise.resolve(chunks.next().value ?? null);
      this.#cancel = () => {};
    }
  }

  override get size(): number {
    return this.#size;
  }

  override stream(): ReadableStream<Uint8Array<ArrayBuffer>> {
    return new ReadableStream<Uint8Array<ArrayBuffer>>({
      pull: async (controller) => {
        try {
          const chunk = await this.#nextWithin();
          if (chunk === null) controller.close();
          // the stream's consumer only reads them; the type asks for more than it needs
          else controller.enqueue(chunk as Uint8Array<ArrayBuffer>);
        } catch (error) {
          // Nobody wants the rest of an abandoned body: that it is short is not its failure.
          if (!this.#abandoned) this.failure ??= String(error);
          throw error;
        }
      },
      cancel: () => this.abandon(),
    }, { highWaterMark: 0 });
  }

  /** Lets go of the stream behind it; nothing happens where that has ended. */
  abandon(): void {
    this.#abandoned = true;
    this.#cancel();
  }

  async #nextWithin(): Promise<Uint8Array | null> {
    for (;;) {
      const chunk = await this.#next();
      if (chunk === null) {
        if (this.#left > 0) throw new Error(`${this.#left} of ${this.#size} bytes short`);
        return null;
      }
      if (chunk.length > this.#left) {
        throw new Error(`longer than the promised ${this.#size} bytes`);
      }
      this.#left -= chunk.length;
      if (chunk.length > 0) return chunk;
    }
  }
}
