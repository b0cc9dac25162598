/**
 * One connection of a client, from its first byte to its close.
 *
 *     idle ──byte──> head ──whole──> turn ──answered──> idle …
 *       │             │ refused        │ last answer
 *       └──too long───┴──> lingering <─┘ ──> closed
 *
 * Something is always being read: the head, the body, or what comes while the answer is made. That
 * last read is how a client that leaves is noticed, and its bytes are the next request's. It stops
 * at a full buffer: a client that sends that much ahead is noticed when it is written to.
 *
 * Lingering: the sending side is closed and what still comes is read away for a while, so that the
 * client reads its answer before it sees that nobody took the rest.
 *
 * @module
 */

import type { AcceptedConn } from "./asked.ts";
import { PIECE, type Pieces } from "./pieces.ts";
import { type BodySource, RequestBody } from "./request_body.ts";
import {
  findRequestEnd,
  HEAD_LIMIT,
  parseRequestHead,
  type RefusedHead,
  type RequestSearch,
} from "./request_head.ts";
import { Turn, type TurnLine } from "./turn.ts";

/** What the connections of one server share. */
export interface ConnectionParts {
  readonly pieces: Pieces;
  readonly room: (size: number) => Uint8Array<ArrayBuffer>;
  readonly date: () => string;
  /**
   * How long a connection may still wait for its last request, in milliseconds; null while answers
   * need not be the last ones.
   */
  readonly leaving: () => number | null;
  readonly answer: (turn: Turn) => Promise<void> | void;
  /** The whole response to a head that is refused, as bytes. */
  readonly refusal: (refused: RefusedHead) => Uint8Array;
  readonly onBug: (error: unknown) => void;
  readonly closed: (connection: Connection) => void;
}

/** How long each may last, in milliseconds. */
export interface ConnectionTimes {
  /** From the first byte of a head, or from the accept, to its end. */
  readonly headMs: number;
  /** Between an answer and the next request. */
  readonly idleMs: number;
  /** Of a client that does not read an answer made here. */
  readonly stallMs: number;
  /** How long what still comes behind a last answer is read away. */
  readonly lingerMs: number;
}

/** Less room than this is not worth a read. */
const LEAST_ROOM = 256;

const NONE = new Uint8Array(0);
/** What is read away by all lingering connections. */
const SINK = new Uint8Array(64 * 1024);

type State = "idle" | "head" | "turn" | "lingering" | "closed";

/** One connection. */
export class Connection implements BodySource, TurnLine {
  readonly #conn: AcceptedConn;
  readonly #parts: ConnectionParts;
  #state: State = "idle";
  /** When the state was first looked at: nothing on a request's way asks what time it is. */
  #since: number | null = null;
  #served = 0;
  #buffer: Uint8Array<ArrayBuffer> = NONE;
  #start = 0;
  #end = 0;
  readonly #search: RequestSearch = { start: 0, line: 0, lines: 0, at: 0, skipped: false };
  #reading = false;
  #turn: Turn | null = null;
  #writing = false;
  /** When the write under way was first looked at. */
  #writingSince: number | null = null;
  #toBody: ((count: number | null) => void) | null = null;
  #goingAhead: Promise<unknown> | null = null;
  #expects = false;
  /** Our sending side is closed. */
  #half = false;

  constructor(conn: AcceptedConn, parts: ConnectionParts) {
    this.#conn = conn;
    this.#parts = parts;
    this.#fill();
  }

  get pieces(): Pieces {
    return this.#parts.pieces;
  }

  get goesOn(): boolean {
    return this.#parts.leaving() === null;
  }

  get date(): string {
    return this.#parts.date();
  }

  get held(): number {
    return this.#end - this.#start;
  }

  /** True while it waits for a request. */
  get idle(): boolean {
    return this.#state === "idle";
  }

  /** True while a request of it is being read or answered. */
  get busy(): boolean {
    return this.#state === "head" || this.#state === "turn";
  }

  /** Breaks what is under way, as if the client had left. */
  abandon(): void {
    if (this.#state === "turn") this.#gone();
    else this.close();
  }

  /** Ends what has lasted too long since it was first looked at. Never early. */
  expire(now: number, times: ConnectionTimes): void {
    this.#since ??= now;
    if (this.#writing) this.#writingSince ??= now;
    const spent = now - this.#since;
    switch (this.#state) {
      case "idle":
        if (spent >= (this.#served === 0 ? times.headMs : times.idleMs)) this.close();
        return;
      case "head":
        if (spent >= times.headMs) {
          const cause = `the head did not arrive within ${times.headMs / 1000} s`;
          this.#refuse({ kind: "refused", code: "head_too_slow", cause });
        }
        return;
      case "turn":
        if (now - (this.#writingSince ?? now) >= times.stallMs) this.#gone();
        return;
      case "lingering":
        if (spent >= times.lingerMs) this.close();
    }
  }

  close(): void {
    if (this.#state === "closed") return;
    this.#state = "closed";
    this.#conn.close();
    if (!this.#reading) this.#letGo();
    this.#parts.closed(this);
  }

  take(into: Uint8Array): number {
    const count = Math.min(this.held, into.length);
    if (count > 0) {
      into.set(this.#buffer.subarray(this.#start, this.#start + count));
      this.#start += count;
    }
    return count;
  }

  peek(): Uint8Array<ArrayBuffer> {
    return this.#buffer.subarray(this.#start, this.#end);
  }

  skip(count: number): void {
    this.#start += count;
  }

  room(size: number): Uint8Array<ArrayBuffer> {
    return this.#parts.room(size);
  }

  direct(into: Uint8Array<ArrayBuffer>, done: (count: number | null) => void): void {
    if (this.#state === "closed") return done(null);
    // The head came with a read already under way behind it: what that brings goes first.
    if (this.#reading) {
      this.#toBody = (count) => done(count === null ? null : this.take(into));
      return;
    }
    this.#reading = true;
    const settle = (count: number | null) => {
      this.#reading = false;
      if (this.#state === "closed") return this.#letGo();
      done(count);
      if (count === null) this.#fin();
      else if (this.#half) this.#linger();
    };
    this.#conn.read(into).then(settle, () => settle(null));
  }

  more(done: (count: number | null) => void): void {
    this.#toBody = done;
    this.#fill();
  }

  goAhead(done: () => void): void {
    if (!this.#expects || this.held > 0) return done();
    this.#expects = false;
    this.#goingAhead = this.#write(CONTINUE).finally(() => {
      this.#goingAhead = null;
      done();
    });
  }

  complete(): void {
    this.#fill();
  }

  async send(bytes: Uint8Array): Promise<boolean> {
    if (this.#goingAhead !== null) await this.#goingAhead;
    if (this.#state === "closed") return false;
    return await this.#write(bytes);
  }

  over(keep: boolean): void {
    const unread = this.#turn?.body.complete === false || this.held > 0;
    this.#turn = null;
    if (this.#state === "closed") return;
    if (!keep) return unread ? this.#linger() : this.close();
    // An answer that began before the server was told to leave.
    if (this.#parts.leaving() === 0 && this.held === 0) return this.close();
    this.#served++;
    this.#await();
  }

  /** Waits for the next head, part of which may be there. */
  #await(): void {
    this.#enter("idle");
    const search = this.#search;
    search.start = search.line = search.at = this.#start;
    search.lines = 0;
    search.skipped = false;
    if (this.held > 0) this.#look();
    else this.#fill();
  }

  #enter(state: State): void {
    this.#state = state;
    this.#since = null;
  }

  readonly #filled = (count: number | null): void => {
    this.#reading = false;
    if (this.#state === "closed") return this.#letGo();
    const toBody = this.#toBody;
    this.#toBody = null;
    if (count === null) {
      toBody?.(null);
      return this.#fin();
    }
    if (this.#state === "lingering") return this.#half ? this.#linger() : undefined;
    this.#end += count;
    if (toBody !== null) return toBody(count);
    if (this.#state === "turn") this.#fill();
    else this.#look();
  };

  readonly #broke = (): void => this.#filled(null);

  /** Keeps a read under way into the buffer, where there is room. */
  #fill(): void {
    if (this.#reading || this.#state === "closed" || this.#state === "lingering") return;
    const turning = this.#state === "turn";
    if (turning && this.#turn?.body.complete === false && this.#toBody === null) return;
    if (!this.#makeRoom(turning)) return;
    this.#reading = true;
    this.#conn.read(this.#buffer.subarray(this.#end)).then(this.#filled, this.#broke);
  }

  /** False when the buffer is full and may not grow: what comes meanwhile waits in the system. */
  #makeRoom(bounded: boolean): boolean {
    if (this.#start === this.#end) {
      this.#moved(this.#start);
      this.#start = this.#end = 0;
      if (this.#buffer.length > PIECE) this.#buffer = NONE;
      if (this.#buffer.length === 0) this.#buffer = this.#parts.pieces.take();
      return true;
    }
    if (this.#buffer.length - this.#end >= LEAST_ROOM) return true;
    if (this.#start > 0) {
      const by = this.#start;
      this.#buffer.copyWithin(0, this.#start, this.#end);
      this.#moved(by);
      this.#start = 0;
      this.#end -= by;
      if (this.#buffer.length - this.#end >= LEAST_ROOM) return true;
    }
    if (bounded && this.#toBody === null) return false;
    if (this.#buffer.length > HEAD_LIMIT) return false;
    const larger = new Uint8Array(this.#buffer.length < 16 * 1024 ? 16 * 1024 : HEAD_LIMIT + 4096);
    larger.set(this.#buffer.subarray(0, this.#end));
    this.#parts.pieces.give(this.#buffer);
    this.#buffer = larger;
    return true;
  }

  #moved(by: number): void {
    this.#search.start -= by;
    this.#search.line -= by;
    this.#search.at -= by;
  }

  /** Looks for a whole head in what is held. */
  #look(): void {
    if (this.#state === "idle") this.#enter("head");
    const end = findRequestEnd(this.#buffer, this.#end, this.#search);
    if (typeof end !== "number") return this.#refuse(end);
    if (end < 0) return this.#fill();
    const parsed = parseRequestHead(this.#buffer, this.#search.start, end);
    if (parsed.kind === "refused") return this.#refuse(parsed);
    this.#start = end;
    this.#expects = parsed.head.expects;
    this.#enter("turn");
    const body = new RequestBody(this, parsed.head.framing);
    const turn = new Turn(this, parsed.head, body);
    this.#turn = turn;
    this.#answer(turn);
    if (body.complete && this.#turn === turn) this.#fill();
  }

  async #answer(turn: Turn): Promise<void> {
    try {
      await this.#parts.answer(turn);
    } catch (error) {
      this.#parts.onBug(error);
    }
    turn.release();
    // An answer that was never given, or never ended.
    turn.break();
  }

  #refuse(refused: RefusedHead): void {
    this.#enter("lingering");
    this.#write(this.#parts.refusal(refused)).then(() => this.#linger());
  }

  #linger(): void {
    if (this.#state === "closed") return;
    if (!this.#half) {
      this.#enter("lingering");
      this.#half = true;
      this.#conn.closeWrite().catch(() => this.close());
    }
    if (this.#reading) return;
    this.#reading = true;
    this.#conn.read(SINK).then(this.#filled, this.#broke);
  }

  /** The client closed its side, or the connection broke. */
  #fin(): void {
    if (this.#state === "turn") this.#gone();
    else this.close();
  }

  #gone(): void {
    const turn = this.#turn;
    this.#turn = null;
    this.close();
    turn?.left();
  }

  async #write(bytes: Uint8Array): Promise<boolean> {
    this.#writing = true;
    this.#writingSince = null;
    try {
      let at = await this.#conn.write(bytes);
      while (at < bytes.length) at += await this.#conn.write(bytes.subarray(at));
      this.#writing = false;
      return true;
    } catch {
      if (this.#state === "turn") this.#gone();
      else this.close();
      return false;
    }
  }

  #letGo(): void {
    this.#parts.pieces.give(this.#buffer);
    this.#buffer = NONE;
  }
}

const CONTINUE = new TextEncoder().encode("HTTP/1.1 100 Continue\r\n\r\n");
