/**
 * A request's body as it is asked for, its framing taken off.
 *
 * A body of known length is read straight into the buffer it ends up in, one read ahead of whoever
 * wants it, so that a client that leaves is noticed meanwhile. A chunked one goes through the
 * connection's buffer: what follows it there is the next request.
 *
 * @module
 */

import { ChunkedDecoder } from "../relay/http1_chunked.ts";
import type { BodyFailure, Read } from "../relay/upstream.ts";
import type { AskedBody } from "./asked.ts";
import type { RequestFraming } from "./request_head.ts";

/** What a body needs of its connection. */
export interface BodySource {
  /** Bytes in the connection's buffer that nobody has taken. */
  readonly held: number;
  /** Moves held bytes to the start of `into`; gives how many. */
  take(into: Uint8Array): number;
  /** Looks at the held bytes without taking them. */
  peek(): Uint8Array<ArrayBuffer>;
  /** Takes `count` held bytes away. */
  skip(count: number): void;
  /** Small room for the caller alone. */
  room(size: number): Uint8Array<ArrayBuffer>;
  /** Reads past the buffer into `into`; null when the client has left. */
  direct(into: Uint8Array<ArrayBuffer>, done: (count: number | null) => void): void;
  /** Reads more into the connection's buffer; null when the client has left. */
  more(done: (count: number | null) => void): void;
  /** Gives the go-ahead that the client waits for, once; then calls `done`. */
  goAhead(done: () => void): void;
  /** Told once the body is there whole. */
  complete(): void;
}

/** Bytes of one read of a large body. */
const CHUNK = 64 * 1024;
/** What a read left free of its chunk is read into next, unless it is less than this. */
const LEAST_ROOM = 16 * 1024;

const NONE = new Uint8Array(0);

const END: Read = { kind: "end" };

/** One body. */
export class RequestBody implements AskedBody {
  readonly length: number | null;
  readonly #source: BodySource;
  readonly #chunked: ChunkedDecoder | null;
  /** Bytes of known length that were not handed out. */
  #left: number;
  #outcome: Read | null = null;
  #waiter: ((read: Read) => void) | null = null;
  /** A chunk that is being read, or was before anybody wanted it. */
  #ahead: { readonly bytes: Uint8Array<ArrayBuffer>; count: number | null } | null = null;
  #asked = false;
  /** What the last read left free. */
  #spare: Uint8Array<ArrayBuffer> = NONE;

  constructor(source: BodySource, framing: RequestFraming) {
    this.#source = source;
    this.#chunked = framing.kind === "chunked" ? new ChunkedDecoder() : null;
    this.length = framing.kind === "chunked" ? null : framing.kind === "length" ? framing.size : 0;
    this.#left = this.length ?? 0;
    if (this.length === 0) this.#outcome = END;
  }

  /** True when every byte of it has been taken from the connection. */
  get complete(): boolean {
    return this.#outcome === END;
  }

  whole(): Promise<Read> | Read {
    if (this.#outcome !== null) return this.#outcome;
    const bytes = this.#source.room(this.#left);
    const at = this.#source.take(bytes);
    if (at === bytes.length) {
      this.#end();
      return { kind: "bytes", bytes };
    }
    return new Promise((answer) => {
      this.#waiter = answer;
      this.#begin(() => this.#fill(bytes, at));
    });
  }

  read(): Promise<Read> {
    if (this.#outcome !== null) return Promise.resolve(this.#outcome);
    if (this.#waiter !== null) throw new Error("body: one read at a time");
    return new Promise((answer) => {
      this.#waiter = answer;
      this.#begin(() => this.#chunked === null ? this.#next() : this.#decode(this.#chunked));
    });
  }

  stop(): void {
    this.fail("aborted", "nobody wants it");
  }

  /** The client has left, or the connection broke: the rest never comes. */
  fail(code: BodyFailure, cause: string): void {
    if (this.#outcome !== null) return;
    this.#outcome = { kind: "broken", code, cause };
    this.#answer(this.#outcome);
  }

  /** Takes what is held of a body that nobody wants. */
  absorb(): void {
    if (this.complete || this.#ahead !== null) return;
    if (this.#chunked !== null) {
      const held = this.#source.peek().slice();
      this.#chunked.decode(held, held.length);
      this.#source.skip(this.#chunked.consumed);
      if (this.#chunked.done) this.#end();
    } else if (this.#outcome === null && this.#left <= this.#source.held) {
      this.#source.skip(this.#left);
      this.#end();
    }
  }

  #begin(then: () => void): void {
    if (this.#asked) return then();
    this.#asked = true;
    this.#source.goAhead(() => {
      if (this.#outcome === null) then();
    });
  }

  #fill(bytes: Uint8Array<ArrayBuffer>, at: number): void {
    this.#source.direct(bytes.subarray(at), (count) => {
      if (this.#outcome !== null) return;
      if (count === null) return this.fail("truncated", "the client left in the middle of it");
      if (at + count < bytes.length) return this.#fill(bytes, at + count);
      this.#end();
      this.#answer({ kind: "bytes", bytes });
    });
  }

  /** Hands out the next bytes of a body of known length. */
  #next(): void {
    const ahead = this.#ahead;
    if (ahead !== null) {
      if (ahead.count !== null) this.#hand(ahead.bytes.subarray(0, ahead.count));
      return; // or it is on its way
    }
    const held = Math.min(this.#source.held, this.#left);
    if (held === 0) return this.#readAhead();
    const bytes = this.#source.room(held);
    this.#source.take(bytes);
    this.#hand(bytes);
  }

  #hand(bytes: Uint8Array): void {
    this.#ahead = null;
    this.#left -= bytes.length;
    if (this.#left === 0) this.#end();
    else this.#readAhead();
    this.#answer({ kind: "bytes", bytes });
  }

  #readAhead(): void {
    const enough = this.#spare.length >= Math.min(LEAST_ROOM, this.#left);
    const bytes = enough ? this.#spare : new Uint8Array(Math.min(CHUNK, this.#left));
    const ahead = {
      bytes: bytes.length > this.#left ? bytes.subarray(0, this.#left) : bytes,
      count: null as number | null,
    };
    this.#ahead = ahead;
    this.#source.direct(ahead.bytes, (count) => {
      if (this.#outcome !== null) return;
      if (count === null) return this.fail("truncated", "the client left in the middle of it");
      ahead.count = count;
      this.#spare = bytes.subarray(count);
      if (this.#waiter !== null) this.#next();
    });
  }

  /** Hands out the next payload of a chunked body. */
  #decode(decoder: ChunkedDecoder): void {
    while (this.#source.held > 0) {
      const bytes = this.#source.peek().slice();
      decoder.decode(bytes, bytes.length);
      this.#source.skip(decoder.consumed);
      const payload = bytes.subarray(decoder.from, decoder.to);
      if (decoder.malformed !== null) return this.fail("malformed", decoder.malformed);
      if (decoder.done) this.#end();
      if (payload.length > 0) return this.#answer({ kind: "bytes", bytes: payload });
      if (decoder.done) return this.#answer(END);
    }
    this.#source.more((count) => {
      if (this.#outcome !== null) return;
      if (count === null) return this.fail("truncated", "the client left in the middle of it");
      this.#decode(decoder);
    });
  }

  #end(): void {
    this.#outcome = END;
    this.#source.complete();
  }

  #answer(read: Read): void {
    const waiter = this.#waiter;
    this.#waiter = null;
    waiter?.(read);
  }
}
