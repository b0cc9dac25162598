/**
 * One request and its answer on one connection: what the answerer holds. It frames what it is given
 * and writes head and first bytes together; the connection does the rest.
 *
 *     asked ──> whole ───────────────────> over
 *           ──> open ──> write … ──> end ─> over
 *           ──> break, or the client left: over, the connection closed
 *
 * @module
 */

import { putByteText } from "../core/byte_text.ts";
import type { HeaderList } from "../relay/upstream.ts";
import type { Asked, Reply } from "./asked.ts";
import type { Pieces } from "./pieces.ts";
import { type ReplyConnection, type ReplyFraming, replyHead } from "./reply_head.ts";
import type { RequestBody } from "./request_body.ts";
import type { RequestHead } from "./request_head.ts";
import { RequestHeaders } from "./request_headers.ts";

/** What a turn needs of its connection. */
export interface TurnLine {
  readonly pieces: Pieces;
  /** False when this answer is the last one whatever the client wants. */
  readonly goesOn: boolean;
  /** What the `date` header says now. */
  readonly date: string;
  /** Writes all of it; false when the connection is broken. */
  send(bytes: Uint8Array): Promise<boolean>;
  /** The answer is over, whole: the connection goes on when `keep`. */
  over(keep: boolean): void;
  /** Closes now. */
  close(): void;
}

/** Before a chunk in the space: six digits and a line end. */
const BEFORE = 8;
/** Behind it: a line end, and the last chunk. */
const BEHIND = 7;
/** The space of a stream whose reads fill a piece. */
const LARGE_SPACE = 64 * 1024;
/** Up to so many bytes head and body are joined into one write. */
const JOINED = 64 * 1024;

const NONE = new Uint8Array(0);
const CR = 13;
const LF = 10;
const ZERO = 48;

/** One request being answered. */
export class Turn implements Asked, Reply {
  readonly method: string;
  readonly target: string;
  readonly headers: RequestHeaders;
  readonly body: RequestBody;
  onGone: (() => void) | null = null;
  readonly #line: TurnLine;
  readonly #head: RequestHead;
  #framing: ReplyFraming = { kind: "none" };
  /** Bytes still owed where a length was promised. */
  #owed = 0;
  #keep = false;
  #begun = false;
  #over = false;
  #space: Uint8Array<ArrayBuffer> = NONE;
  /** The part of the space that is read into. */
  #room: Uint8Array<ArrayBuffer> = NONE;
  /** The last read filled the space. */
  #full = false;

  constructor(line: TurnLine, head: RequestHead, body: RequestBody) {
    this.#line = line;
    this.#head = head;
    this.method = head.method;
    this.target = head.target;
    this.headers = new RequestHeaders(head.headers);
    this.body = body;
  }

  get begun(): boolean {
    return this.#begun;
  }

  /** True once nothing more can be written. */
  get isOver(): boolean {
    return this.#over;
  }

  async whole(status: number, headers: HeaderList, body: Uint8Array | null): Promise<boolean> {
    const silent = status === 204 || status === 304;
    const head = this.#begin(
      status,
      headers,
      silent ? { kind: "none" } : { kind: "length", size: body?.length ?? 0 },
    );
    const payload = silent || this.method === "HEAD" ? null : body;
    const sent = await this.#sendHead(head, payload, 0);
    if (sent) this.#finish();
    return sent;
  }

  async open(
    status: number,
    headers: HeaderList,
    length: number | null,
    first: Uint8Array | null,
  ): Promise<boolean> {
    const framing: ReplyFraming = length !== null
      ? { kind: "length", size: length }
      : this.#head.minor === 1
      ? { kind: "chunked" }
      : { kind: "close" };
    const head = this.#begin(status, headers, framing);
    const payload = this.method === "HEAD" ? null : first;
    if (payload !== null) this.#pay(payload.length);
    return await this.#sendHead(head, payload, framing.kind === "chunked" ? 2 : 0);
  }

  space(): Uint8Array<ArrayBuffer> {
    if (this.#space.length === 0) this.#spread(this.#line.pieces.take());
    else if (this.#full && this.#space.length < LARGE_SPACE) {
      this.#line.pieces.give(this.#space);
      this.#spread(new Uint8Array(LARGE_SPACE));
    }
    return this.#room;
  }

  #spread(space: Uint8Array<ArrayBuffer>): void {
    this.#space = space;
    this.#room = space.subarray(BEFORE, space.length - BEHIND);
  }

  async write(bytes: Uint8Array): Promise<boolean> {
    if (this.#over) return false;
    this.#full = bytes.length >= this.#room.length;
    if (bytes.length === 0 || this.method === "HEAD") return true;
    this.#pay(bytes.length);
    return await this.#line.send(
      this.#framing.kind === "chunked" ? this.#chunk(bytes, false) : bytes,
    );
  }

  async end(last: Uint8Array | null): Promise<boolean> {
    if (this.#over) return false;
    if (this.method === "HEAD") last = null;
    const some = last !== null && last.length > 0 ? last : null;
    if (some !== null) this.#pay(some.length);
    if (this.#owed > 0 && this.method !== "HEAD") {
      this.break();
      return false;
    }
    const rest = this.#framing.kind !== "chunked" || this.method === "HEAD"
      ? some
      : some === null
      ? LAST_CHUNK
      : this.#chunk(some, true);
    if (rest !== null && !await this.#line.send(rest)) return false;
    this.#finish();
    return true;
  }

  break(): void {
    if (this.#over) return;
    this.#over = true;
    this.#line.close();
  }

  /** Takes in that the client has left. */
  left(): void {
    if (this.#over) return;
    this.#over = true;
    this.body.fail("truncated", "the client left");
    const told = this.onGone;
    this.onGone = null;
    told?.();
  }

  #begin(status: number, headers: HeaderList, framing: ReplyFraming): string {
    if (this.#begun) throw new Error("reply: one answer to one request");
    this.#begun = true;
    this.#framing = framing;
    this.#owed = framing.kind === "length" ? framing.size : 0;
    this.body.absorb();
    this.#keep = this.#head.keepAlive && this.#line.goesOn && this.body.complete &&
      framing.kind !== "close" && status !== 408;
    const connection: ReplyConnection = !this.#keep
      ? "close"
      : this.#head.minor === 0
      ? "keep-alive"
      : null;
    return replyHead(status, headers, framing, connection, this.#line.date);
  }

  /** Head and payload in one write where they are small; `around` bytes of framing follow it. */
  async #sendHead(head: string, payload: Uint8Array | null, around: number): Promise<boolean> {
    if (this.#over) return false;
    const size = payload?.length ?? 0;
    const prefix = around > 0 && size > 0 ? `${size.toString(16)}\r\n` : "";
    const joined = size <= JOINED;
    const total = head.length + prefix.length + (joined && size > 0 ? size + around : 0);
    const piece = this.#line.pieces.take();
    const out = total <= piece.length ? piece : new Uint8Array(total);
    let at = putByteText(head, out, 0);
    if (prefix !== "") at = putByteText(prefix, out, at);
    if (payload !== null && joined && size > 0) {
      out.set(payload, at);
      at += size;
      if (around > 0) {
        out[at++] = CR;
        out[at++] = LF;
      }
    }
    let sent = await this.#line.send(out.subarray(0, at));
    this.#line.pieces.give(piece);
    if (sent && payload !== null && !joined) {
      sent = await this.#line.send(payload);
      if (sent && around > 0) sent = await this.#line.send(LINE_END);
    }
    return sent;
  }

  /** `bytes` as a chunk: in place where they lie in the space, else copied. */
  #chunk(bytes: Uint8Array, last: boolean): Uint8Array {
    const size = bytes.length;
    const space = this.#space;
    const offset = bytes.byteOffset - space.byteOffset;
    const inPlace = bytes.buffer === space.buffer && offset >= BEFORE &&
      offset + size + BEHIND <= space.length;
    const out = inPlace ? space : new Uint8Array(BEFORE + size + BEHIND);
    const from = inPlace ? offset : BEFORE;
    if (!inPlace) out.set(bytes, from);
    let start = from;
    out[--start] = LF;
    out[--start] = CR;
    for (let left = size; left > 0; left >>>= 4) {
      const digit = left & 15;
      out[--start] = digit < 10 ? ZERO + digit : 87 + digit;
    }
    let end = from + size;
    out[end++] = CR;
    out[end++] = LF;
    if (last) {
      out.set(LAST_CHUNK, end);
      end += LAST_CHUNK.length;
    }
    return out.subarray(start, end);
  }

  #pay(count: number): void {
    if (this.#framing.kind !== "length") return;
    if (count > this.#owed) throw new Error("reply: more bytes than its content-length");
    this.#owed -= count;
  }

  #finish(): void {
    if (this.#over) return;
    this.#over = true;
    this.#line.over(this.#keep);
  }

  /** Gives the space back: nobody reads into it any more. */
  release(): void {
    if (this.#space.length > 0) this.#line.pieces.give(this.#space);
    this.#space = this.#room = NONE;
  }
}

const LAST_CHUNK = new Uint8Array([ZERO, CR, LF, CR, LF]);
const LINE_END = new Uint8Array([CR, LF]);
