/**
 * The stream of updates: for each reader the parts of its page that are other than it has them, and
 * the events it does not have. Nothing waits in a queue: a reader that takes its time gets what is
 * true when it comes, and one that takes nothing for too long is let go.
 *
 *     pulled ──> something differs? ──no──> wait for a change, or a beat
 *        ^             │ yes
 *        └──taken── sent ──not taken for so long──> let go
 *
 * A reader that comes back with the id of the last event it has gets the events after it, when this
 * process still holds them, and otherwise all; and every part, since what it has may be old.
 *
 * @module
 */

import type { Clock } from "../../../lib/core/clock.ts";
import { EventItem, eventLine, SHOWN_EVENTS } from "./event_item.tsx";
import type { FleetEvent } from "./fleet_watch.ts";
import { since } from "./page.tsx";
import { type Part, partsOf, type Source, type Subject } from "./parts.tsx";

/** Readers at once. */
export const MOST_READERS = 16;
/** Between two updates, in milliseconds. */
const LEAST_MS = 50;
/** Standings change with time: this often it is looked, in milliseconds. */
const LOOK_MS = 1000;
/** Something is sent this often, so that a dead reader is found, in milliseconds. */
const BEAT_MS = 10_000;
/** A reader that takes nothing for so long is let go, in milliseconds. */
const STALLED_MS = 20_000;
/** A browser waits so long before it comes back, in milliseconds. */
const RETRY_MS = 1000;

/** What readers need. */
export interface UpdateParts extends Source {
  readonly clock: Clock;
  /** Somebody reads, until the function it gives is called. */
  readonly onReader: () => () => void;
}

/** One who reads. */
export interface ReaderAsk {
  readonly subject: Subject;
  /** Where the page got to: {@link since}. */
  readonly since: string;
  /** The id of the last update it has, when it was connected before; null otherwise. */
  readonly last: string | null;
  /** Closes its connection at once. */
  readonly onStalled: () => void;
  /** Its stream is over. */
  readonly onEnd: () => void;
}

const encoder = new TextEncoder();

/** All who read. */
export class Updates {
  readonly #parts: UpdateParts;
  readonly #readers = new Set<Reader>();
  #closed = false;

  constructor(parts: UpdateParts) {
    this.#parts = parts;
  }

  get readers(): number {
    return this.#readers.size;
  }

  /** A stream for one more reader; null when there are too many, or no more come in. */
  open(ask: ReaderAsk): ReadableStream<Uint8Array> | null {
    if (this.#closed || this.#readers.size >= MOST_READERS) return null;
    const left = this.#parts.onReader();
    const reader: Reader = new Reader(this.#parts, ask, () => {
      this.#readers.delete(reader);
      left();
      ask.onEnd();
    });
    this.#readers.add(reader);
    return reader.stream;
  }

  /** Ends all streams; no reader comes in any more. */
  close(): void {
    this.#closed = true;
    for (const reader of [...this.#readers]) reader.end();
  }
}

interface Sent {
  readonly same: readonly unknown[];
  html: string | null;
}

class Reader {
  readonly stream: ReadableStream<Uint8Array>;
  readonly #parts: UpdateParts;
  readonly #ask: ReaderAsk;
  readonly #gone: () => void;
  /** By the id of the element. */
  readonly #sent = new Map<string, Sent>();
  readonly #order = new Map<string, string>();
  readonly #over = new AbortController();
  #nudge = Promise.withResolvers<void>();
  #seq: number | null;
  #first = true;
  #sentAt = -Infinity;
  #taken: AbortController | null = null;

  constructor(parts: UpdateParts, ask: ReaderAsk, gone: () => void) {
    this.#parts = parts;
    this.#ask = ask;
    const ignore = parts.watch.listen(() => this.#nudge.resolve());
    this.#gone = () => {
      ignore();
      this.#taken?.abort();
      gone();
    };
    const { epoch, version, seq } = readSince(ask.last ?? ask.since);
    const same = epoch === parts.watch.epoch;
    this.#seq = same ? seq : null;
    // A page that was just made from what is known now has it all.
    if (ask.last === null && same && version === parts.watch.version) this.#prime();
    this.stream = new ReadableStream({
      pull: async (controller) => {
        this.#taken?.abort();
        const text = await this.#next();
        if (text === null) return controller.close();
        controller.enqueue(encoder.encode(text));
        this.#awaitTaking();
      },
      cancel: () => this.end(),
    }, { highWaterMark: 0 });
  }

  end(): void {
    if (this.#over.signal.aborted) return;
    this.#over.abort();
    this.#gone();
  }

  /** Lets the reader go unless it takes what was sent. */
  #awaitTaking(): void {
    const taken = new AbortController();
    this.#taken = taken;
    this.#parts.clock.sleep(STALLED_MS, taken.signal).then(() => {
      this.end();
      this.#ask.onStalled();
    }, () => {});
  }

  /** What is sent next; null: nothing ever. */
  async #next(): Promise<string | null> {
    const { clock } = this.#parts;
    const { signal } = this.#over;
    if (this.#first) {
      this.#first = false;
      this.#sentAt = clock.monotonic();
      return `retry: ${RETRY_MS}\n${this.#update() ?? this.#text([], null)}`;
    }
    for (;;) {
      const early = this.#sentAt + LEAST_MS - clock.monotonic();
      if (early > 0) await clock.sleep(early, signal).catch(() => {});
      if (signal.aborted) return null;
      this.#nudge = Promise.withResolvers<void>();
      const text = this.#update();
      if (text === null && clock.monotonic() - this.#sentAt < BEAT_MS) {
        const woken = new AbortController();
        const until = AbortSignal.any([signal, woken.signal]);
        await Promise.race([this.#nudge.promise, clock.sleep(LOOK_MS, until).catch(() => {})]);
        woken.abort();
        if (signal.aborted) return null;
        continue;
      }
      this.#sentAt = clock.monotonic();
      return text ?? ": nothing new\n\n";
    }
  }

  #update(): string | null {
    const { watch, clock } = this.#parts;
    const changed = this.#changed(clock.now());
    const events = this.#events();
    if (changed.length === 0 && events === null) return null;
    this.#seq = watch.events.at(-1)?.seq ?? 0;
    return this.#text(changed, events);
  }

  #text(parts: readonly (readonly [string, string])[], events: Events | null): string {
    const data = JSON.stringify({ parts, events });
    return `event: update\nid: ${since(this.#parts.watch)}\ndata: ${data}\n\n`;
  }

  #changed(now: number): (readonly [id: string, html: string])[] {
    const moment = { now, ages: false };
    const changed: (readonly [string, string])[] = [];
    const htmlOf = (part: Part): string | null => {
      const had = this.#sent.get(part.id);
      if (had !== undefined && isSame(had.same, part.same)) return null;
      const html = part.html(moment);
      this.#sent.set(part.id, { same: part.same, html });
      return html === had?.html ? null : html;
    };
    const { single, lists } = partsOf(this.#ask.subject, this.#parts, now);
    for (const part of single) {
      const html = htmlOf(part);
      if (html !== null) changed.push([part.id, html]);
    }
    for (const { id, parts } of lists) {
      const order = parts.map((part) => part.id).join("\n");
      const had = this.#order.get(id);
      if (had === order) {
        for (const part of parts) {
          const html = htmlOf(part);
          if (html !== null) changed.push([part.id, html]);
        }
        continue;
      }
      for (const gone of (had ?? "").split("\n")) this.#sent.delete(gone);
      this.#order.set(id, order);
      changed.push([id, parts.map((part) => htmlOf(part) ?? "").join("")]);
    }
    return changed;
  }

  #events(): Events | null {
    const { events } = this.#parts.watch;
    const [oldest] = events;
    const seq = this.#seq;
    const holes = seq !== null && oldest !== undefined && seq + 1 < oldest.seq;
    const reset = seq === null || holes;
    const fresh = reset ? events : events.filter((one) => one.seq > seq);
    if (fresh.length === 0 && !reset) return null;
    const shown = fresh.slice(-SHOWN_EVENTS).reverse();
    return {
      reset,
      items: shown.map((event) => String(EventItem({ event }))),
      said: saidOf(fresh),
    };
  }

  #prime(): void {
    const { single, lists } = partsOf(this.#ask.subject, this.#parts, this.#parts.clock.now());
    for (const { id, same } of single) this.#sent.set(id, { same, html: null });
    for (const { id, parts } of lists) {
      this.#order.set(id, parts.map((part) => part.id).join("\n"));
      for (const { id, same } of parts) this.#sent.set(id, { same, html: null });
    }
  }
}

interface Events {
  /** These are all there are: what a page has is from another process, or too old to join. */
  readonly reset: boolean;
  /** Newest first. */
  readonly items: readonly string[];
  /** For a voice: one sentence, however many there are. */
  readonly said: string;
}

function saidOf(events: readonly FleetEvent[]): string {
  const last = events.at(-1);
  if (last === undefined) return "";
  return events.length === 1 ? eventLine(last) : `${events.length} events; ${eventLine(last)}`;
}

function isSame(had: readonly unknown[], now: readonly unknown[]): boolean {
  return had.length === now.length && had.every((one, at) => Object.is(one, now[at]));
}

/** Reads what {@link since} wrote; an epoch of nobody when it is anything else. */
function readSince(text: string): { epoch: string; version: number; seq: number } {
  const match = /^([0-9a-f]{1,64})\.(\d{1,15})\.(\d{1,15})$/.exec(text);
  return match === null
    ? { epoch: "", version: 0, seq: 0 }
    : { epoch: match[1] ?? "", version: Number(match[2]), seq: Number(match[3]) };
}
