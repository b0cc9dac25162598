/**
 * One streaming request as the client sees it: events in order, each whole, then the terminator.
 *
 * @module
 */

import { latin1, ResponseReader } from "./response_reader.ts";
import { chatBody, DONE, FINISH, readEvent, request } from "./wire.ts";

const LF = 10;

/** A stream to ask for. */
export interface StreamOrder {
  /** Four digits. */
  readonly id: number;
  readonly periodMicros: number;
  /** Period after the third event; 0 for the same. */
  readonly slowMicros: number;
}

/** The request for it. */
export function streamRequest(
  headers: Readonly<Record<string, string>>,
  { id, periodMicros, slowMicros }: StreamOrder,
): Uint8Array<ArrayBuffer> {
  const instruction = `bench:sse:${id}:${periodMicros}:${slowMicros}:`;
  return request(headers, chatBody(instruction, true, 512));
}

/** What the reader tells its owner. */
export interface StreamOwner {
  event(sequence: number, sentMicros: number): void;
  /** The terminator came and the body ended, after `events` events. */
  done(events: number): void;
  problem(what: string): void;
}

/** Checks one stream as it comes. */
export class StreamReader {
  readonly #reader: ResponseReader;
  #rest: Uint8Array = new Uint8Array(0);
  #sequence = 0;
  #finished = false;
  #terminated = false;

  constructor(private readonly order: StreamOrder, private readonly owner: StreamOwner) {
    this.#reader = new ResponseReader({
      head: (status) => {
        if (status !== 200) owner.problem(`status ${status}`);
      },
      body: (bytes, from, to) => this.#split(bytes, from, to),
      end: () => this.#end(),
    });
  }

  feed(bytes: Uint8Array, length: number): void {
    this.#reader.feed(bytes, length);
    if (this.#reader.broken) this.owner.problem("a stream that is no HTTP/1.1 answer");
  }

  #split(bytes: Uint8Array, from: number, to: number): void {
    let buffer = bytes;
    let start = from;
    let end = to;
    if (this.#rest.length > 0) {
      buffer = new Uint8Array(this.#rest.length + to - from);
      buffer.set(this.#rest);
      buffer.set(bytes.subarray(from, to), this.#rest.length);
      start = 0;
      end = buffer.length;
    }
    for (let i = start + 1; i < end; i++) {
      if (buffer[i] !== LF || buffer[i - 1] !== LF) continue;
      this.#take(buffer, start, i + 1);
      start = i + 1;
    }
    this.#rest = start < end ? buffer.slice(start, end) : new Uint8Array(0);
  }

  #take(bytes: Uint8Array, from: number, to: number): void {
    const event = readEvent(bytes, from, to);
    if (event === null) {
      this.#takeOther(latin1(bytes, from, to));
      return;
    }
    if (event.stream !== this.order.id) this.owner.problem("an event of another stream");
    if (event.sequence !== this.#sequence || this.#finished) {
      this.owner.problem("an event out of order, missing or twice");
    }
    this.#sequence = event.sequence + 1;
    this.owner.event(event.sequence, event.sent);
  }

  #takeOther(text: string): void {
    if (text.startsWith(":")) return; // a comment is a relay's heartbeat
    if (text === FINISH && !this.#finished) this.#finished = true;
    else if (text === DONE && this.#finished && !this.#terminated) this.#terminated = true;
    else this.owner.problem(`an event the upstream did not send: ${text.slice(0, 60).trim()}`);
  }

  #end(): void {
    if (this.#rest.length > 0) this.owner.problem("half an event at the end of a stream");
    if (this.#terminated) this.owner.done(this.#sequence);
    else this.owner.problem("a stream ended without its terminator");
  }
}
