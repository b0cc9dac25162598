/**
 * The streams in the air and when each one's next event is due.
 *
 * @module
 */

import { chunk, DONE, EVENT, EVENT_AT, FINISH, patch, STREAM_HEAD } from "./wire.ts";

/** Where a stream's bytes go. */
export interface Sink {
  send(bytes: Uint8Array<ArrayBuffer>): void;
}

const event = chunk(new TextDecoder().decode(EVENT));
const offset = event.length - EVENT.length - 2;
const ending = new Uint8Array([
  ...chunk(FINISH),
  ...chunk(DONE),
  ...new TextEncoder().encode("0\r\n\r\n"),
]);

/** One answer: events until it is told to finish, then a terminator. */
export class Stream {
  /** Events sent so far. */
  sequence = 0;
  due = 0;
  over = false;
  finishing = false;

  constructor(
    private readonly sink: Sink,
    readonly id: number,
    private readonly periodMicros: number,
    /** After the third event the period becomes this one, when it is not 0: a model that thinks. */
    private readonly slowMicros: number,
  ) {}

  begin(now: number): void {
    this.sink.send(STREAM_HEAD);
    // Streams that begin together would else send together, all of them, for ever.
    this.due = now + (this.id * 7919) % this.periodMicros;
  }

  /** Writes the event that is due, or the end. */
  step(clock: () => number): void {
    if (this.finishing) {
      this.over = true;
      this.sink.send(ending);
      return;
    }
    patch(event, offset + EVENT_AT.stream, 4, this.id);
    patch(event, offset + EVENT_AT.sequence, 8, this.sequence++);
    patch(event, offset + EVENT_AT.sent, 16, clock());
    this.sink.send(event);
    const slow = this.slowMicros > 0 && this.sequence >= 3;
    this.due += slow ? this.slowMicros : this.periodMicros;
  }
}

/** All of them. A scan per millisecond is cheaper than a heap at these numbers. */
export class Schedule {
  #streams = new Set<Stream>();
  #next = Infinity;
  #lateness = 0;

  /** `clock` gives microseconds. */
  constructor(private readonly clock: () => number) {}

  add(stream: Stream): void {
    this.#streams.add(stream);
    stream.begin(this.clock());
    this.#next = 0;
  }

  /** Every stream ends at its next turn: `[id, events]` of each. */
  finish(): [number, number][] {
    const streams = [...this.#streams];
    for (const stream of streams) stream.finishing = true;
    return streams.map(({ id, sequence }) => [id, sequence]);
  }

  remove(stream: Stream): void {
    stream.over = true;
    this.#streams.delete(stream);
  }

  /** How long the loop may wait. Milliseconds are epoll's unit: events leave in small bursts. */
  waitMs(): number {
    const now = this.clock();
    if (this.#streams.size === 0) return 1000;
    return this.#next <= now ? 0 : Math.min(1000, Math.ceil((this.#next - now) / 1000));
  }

  run(): void {
    const now = this.clock();
    if (this.#next > now) return;
    let next = Infinity;
    for (const stream of this.#streams) {
      if (stream.due <= now) {
        this.#lateness = Math.max(this.#lateness, now - stream.due);
        stream.step(this.clock);
        if (stream.over) this.#streams.delete(stream);
      }
      if (!stream.over) next = Math.min(next, stream.due);
    }
    this.#next = next;
  }

  /** How late the latest event left since the last call, in us: the instrument's own strain. */
  takeLateness(): number {
    const lateness = this.#lateness;
    this.#lateness = 0;
    return lateness;
  }
}
