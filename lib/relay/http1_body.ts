/**
 * A response body as it is pulled. Bytes are read into the caller's own buffer and handed back as
 * a view over it; framing is taken off in place.
 *
 * @module
 */

import { ChunkedDecoder } from "./http1_chunked.ts";
import type { Framing } from "./http1_head.ts";
import type { Line } from "./http1_line.ts";
import type { BodyFailure, ByteSource, Read } from "./upstream.ts";

const END: Read = { kind: "end" };

/** One body on one line. The line is its own until `ended`, which is called exactly once. */
export class LineBody implements ByteSource {
  readonly #line: Line;
  readonly #framing: Framing;
  readonly #chunked: ChunkedDecoder | null;
  readonly #ended: (clean: boolean) => void;
  #left: number;
  #outcome: Read | null = null;
  #reading = false;

  /** `ended(true)` says that the body was whole and that not a byte follows it. */
  constructor(line: Line, framing: Framing, ended: (clean: boolean) => void) {
    this.#line = line;
    this.#framing = framing;
    this.#ended = ended;
    this.#left = framing.kind === "length" ? framing.size : 0;
    this.#chunked = framing.kind === "chunked" ? new ChunkedDecoder() : null;
    if (framing.kind === "none" || (framing.kind === "length" && framing.size === 0)) {
      this.#end(!line.holds);
    }
  }

  get framing(): ByteSource["framing"] {
    return this.#framing.kind;
  }

  get ended(): boolean {
    return this.#outcome === END;
  }

  get holds(): boolean {
    return this.#outcome === null && this.#line.holds;
  }

  async read(into: Uint8Array<ArrayBuffer>): Promise<Read> {
    if (this.#outcome !== null) return this.#outcome;
    if (into.length === 0) throw new Error("read: no room to read into");
    if (this.#reading) throw new Error("read: one read at a time");
    this.#reading = true;
    try {
      for (;;) {
        let count = this.#line.take(into);
        if (count === 0) {
          const got = await this.#line.conn.read(into);
          if (this.#outcome !== null) return this.#outcome;
          if (got === null) return this.#fin();
          count = got;
        }
        const bytes = this.#accept(into, count);
        if (bytes !== null) return { kind: "bytes", bytes };
        if (this.#outcome !== null) return this.#outcome;
      }
    } catch (error) {
      return this.#outcome ?? this.#break("reset", String(error));
    } finally {
      this.#reading = false;
    }
  }

  cancel(): void {
    this.abort("cancelled");
  }

  /** Ends it as `aborted`; nothing happens when it has ended already. */
  abort(cause: string): void {
    if (this.#outcome === null) this.#break("aborted", cause);
  }

  /** The payload among `into[0, count)`, or null when it was all framing. */
  #accept(into: Uint8Array<ArrayBuffer>, count: number): Uint8Array | null {
    if (this.#chunked !== null) return this.#acceptChunked(this.#chunked, into, count);
    if (this.#framing.kind === "close") return into.subarray(0, count);
    const mine = Math.min(count, this.#left);
    this.#left -= mine;
    if (this.#left === 0) this.#end(mine === count && !this.#line.holds);
    return into.subarray(0, mine);
  }

  #acceptChunked(
    decoder: ChunkedDecoder,
    into: Uint8Array<ArrayBuffer>,
    count: number,
  ): Uint8Array | null {
    decoder.decode(into, count);
    if (decoder.done) this.#end(decoder.consumed === count && !this.#line.holds);
    else if (decoder.malformed !== null) this.#break("malformed", decoder.malformed);
    // payload that stood before the fault is still the member's word: it comes out first
    return decoder.to > decoder.from ? into.subarray(decoder.from, decoder.to) : null;
  }

  #fin(): Read {
    if (this.#framing.kind !== "close") {
      const left = this.#framing.kind === "length" ? `${this.#left} bytes` : "the last chunk";
      return this.#break("truncated", `the member closed before ${left}`);
    }
    this.#end(false);
    return END;
  }

  #end(clean: boolean): void {
    this.#outcome = END;
    this.#ended(clean);
  }

  #break(code: BodyFailure, cause: string): Read {
    this.#outcome = { kind: "broken", code, cause };
    this.#ended(false);
    return this.#outcome;
  }
}
