/**
 * Our own HTTP/1.1 server side: connections that somebody accepted, each answered one request at a
 * time, and how all of them end.
 *
 *     take ──> connection ──> Answerer          leave: every answer is the last of its connection
 *                                               closeIdle: those without a request are closed
 *                                               abandon: what is still open is broken
 *
 * @module
 */

import { putByteText } from "../core/byte_text.ts";
import type { Clock } from "../core/clock.ts";
import { Slab } from "../core/slab.ts";
import type { AcceptedConn, Answerer, HeadRefusal } from "./asked.ts";
import { Connection, type ConnectionParts, type ConnectionTimes } from "./connection.ts";
import { Pieces } from "./pieces.ts";
import { replyHead } from "./reply_head.ts";
import type { RefusedHead } from "./request_head.ts";

/** What a server is made of. */
export interface ServerParts {
  readonly clock: Clock;
  readonly answer: Answerer;
  /** Status and JSON body for a head that is refused; the connection closes behind it. */
  readonly refusal: (code: HeadRefusal, cause: string) => {
    readonly status: number;
    readonly body: string;
  };
  /** Told of what escaped an {@link Answerer}. */
  readonly onBug: (error: unknown) => void;
  readonly times: Omit<ConnectionTimes, "lingerMs">;
}

/** How long what still comes behind a last answer is read away, in milliseconds. */
const LINGER_MS = 5000;

/** While the server leaves, nobody may take longer than so many milliseconds for a head. */
const LEAVING_HEAD_MS = 2000;
const LEAVING_LINGER_MS = 1000;

const encoder = new TextEncoder();

/** Serves connections. It accepts none itself and has no timer: `sweep` is its clock. */
export class Http1Server {
  readonly #clock: Clock;
  #times: ConnectionTimes;
  readonly #open = new Set<Connection>();
  readonly #parts: ConnectionParts;
  readonly #slab = new Slab(64 * 1024);
  #leaving: number | null = null;
  #whenEmpty: (() => void)[] = [];
  #date = "";
  #dateSecond = 0;

  constructor(parts: ServerParts) {
    this.#clock = parts.clock;
    this.#times = { ...parts.times, lingerMs: LINGER_MS };
    this.#parts = {
      pieces: new Pieces(),
      room: (size) => this.#slab.take(size),
      date: () => this.#now(),
      leaving: () => this.#leaving,
      answer: (turn) => parts.answer(turn, turn),
      refusal: (refused) => this.#refusal(refused, parts.refusal),
      onBug: parts.onBug,
      closed: (connection) => this.#closed(connection),
    };
  }

  /** Connections that are open, idle ones included. */
  get size(): number {
    return this.#open.size;
  }

  /** True while any connection has a request, read in part or being answered. */
  get busy(): boolean {
    for (const connection of this.#open) if (connection.busy) return true;
    return false;
  }

  /** Serves a connection to its end. */
  take(conn: AcceptedConn): void {
    this.#open.add(new Connection(conn, this.#parts));
  }

  /** Ends what has lasted too long. To be called several times a second. */
  sweep(): void {
    const now = this.#clock.monotonic();
    for (const connection of this.#open) connection.expire(now, this.#times);
  }

  /**
   * From now on every answer says that its connection ends behind it. With a `graceMs` above 0 a
   * connection that was told otherwise before may wait for its last request, until `closeIdle`.
   */
  leave(graceMs: number): void {
    this.#leaving = graceMs;
    const { headMs, idleMs, stallMs } = this.#times;
    this.#times = {
      headMs: Math.min(headMs, Math.max(LEAVING_HEAD_MS, graceMs)),
      idleMs: graceMs === 0 ? 0 : idleMs,
      stallMs,
      lingerMs: LEAVING_LINGER_MS,
    };
  }

  /** Closes the connections without a request. */
  closeIdle(): void {
    for (const connection of [...this.#open]) if (connection.idle) connection.close();
  }

  /** Breaks every connection that is left. */
  abandon(): void {
    for (const connection of [...this.#open]) connection.abandon();
  }

  /** Resolves when no connection is open. */
  empty(): Promise<void> {
    if (this.#open.size === 0) return Promise.resolve();
    return new Promise((resolve) => this.#whenEmpty.push(resolve));
  }

  #closed(connection: Connection): void {
    this.#open.delete(connection);
    if (this.#open.size > 0) return;
    for (const resolve of this.#whenEmpty.splice(0)) resolve();
  }

  #refusal(refused: RefusedHead, refusal: ServerParts["refusal"]): Uint8Array {
    const { status, body } = refusal(refused.code, refused.cause);
    const bytes = encoder.encode(body);
    const headers = [["content-type", "application/json"], ["x-anvil-code", refused.code]] as const;
    const framing = { kind: "length", size: bytes.length } as const;
    const head = replyHead(status, headers, framing, "close", this.#now());
    const out = new Uint8Array(head.length + bytes.length);
    out.set(bytes, putByteText(head, out, 0));
    return out;
  }

  /** The date as HTTP writes it, made once a second. */
  #now(): string {
    const second = Math.floor(this.#clock.now() / 1000);
    if (second !== this.#dateSecond) {
      this.#dateSecond = second;
      this.#date = new Date(second * 1000).toUTCString();
    }
    return this.#date;
  }
}
