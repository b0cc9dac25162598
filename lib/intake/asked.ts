/**
 * The server port: a connection that was accepted, a request read from it, and the way to answer.
 *
 * What the two sides promise each other:
 * - one request at a time: the next one of a connection is read when this one has been answered;
 * - `onGone` is told once, as soon as the client has left while its request is being answered,
 *   with its body unread, read in part or whole, before the answer and in the middle of it. Half
 *   of a connection is none: a client that closes its sending side has left;
 * - an answer is whole or visibly broken: its framing never says more than was written.
 *
 * @module
 */

import type { Conn } from "../relay/dial.ts";
import type { HeaderList, Read } from "../relay/upstream.ts";
import type { RequestHeaders } from "./request_headers.ts";

/** A connection that a listener accepted. */
export interface AcceptedConn extends Conn {
  /** Sends FIN and keeps reading. Rejects when the connection is broken. */
  closeWrite(): Promise<void>;
}

/** A request, its head read whole and understood. */
export interface Asked {
  readonly method: string;
  /** As it was sent: a path and a query, an absolute URL, or `*`. */
  readonly target: string;
  readonly headers: RequestHeaders;
  readonly body: AskedBody;
}

/** A request's body: nothing is read that was not asked for, but for one read ahead. */
export interface AskedBody {
  /** Bytes it has; 0 when there is none; null when only its end says how many. */
  readonly length: number | null;
  /** All of a body of known length above 0, in one piece. Instead of `read`, and once. */
  whole(): Promise<Read> | Read;
  /** The next bytes of it. One read at a time. */
  read(): Promise<Read>;
  /** Nobody wants the rest: what waits for it gets `aborted`. */
  stop(): void;
}

/** The answer to one request. Exactly one of `whole` and `open`, once. */
export interface Reply {
  /** Told when the client has left before the answer was over. Set it before anything is awaited. */
  onGone: (() => void) | null;
  /** True once a head has been written: nothing else can be answered any more. */
  readonly begun: boolean;
  /** Head and body in as few writes as possible. False when the client has left. */
  whole(status: number, headers: HeaderList, body: Uint8Array | null): Promise<boolean>;
  /**
   * The head, and what is there of the body. `length` is what the body will have; without one it is
   * chunked, or ended by closing towards a client of HTTP/1.0.
   */
  open(
    status: number,
    headers: HeaderList,
    length: number | null,
    first: Uint8Array | null,
  ): Promise<boolean>;
  /** Room to read the next bytes into, so that `write` need not copy them. */
  space(): Uint8Array<ArrayBuffer>;
  /** Resolves when the system took all of it; false when the client has left. One at a time. */
  write(bytes: Uint8Array): Promise<boolean>;
  /** The last bytes, if any, and the end. A body shorter than its length is broken instead. */
  end(last: Uint8Array | null): Promise<boolean>;
  /** Closes the connection now: what the client has is not the whole, and looks so. */
  break(): void;
}

/** Answers one request. Must not throw; what it rejects with breaks the connection. */
export type Answerer = (asked: Asked, reply: Reply) => Promise<void> | void;

/** Why a request is refused before anybody is asked. */
export type HeadRefusal =
  | "head_malformed"
  | "head_too_large"
  | "head_too_slow"
  | "target_too_long"
  | "framing_ambiguous"
  | "host_invalid"
  | "version_unsupported"
  | "transfer_encoding_unsupported"
  | "expectation_unsupported";
