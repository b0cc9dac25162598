/**
 * The member's answer on its way to the client: bytes untouched and unbuffered, the end judged.
 *
 * Pulled, never pushed: nothing is read from the member that the client has not asked for, so a slow
 * client slows the engine down and memory stays flat.
 *
 * @module
 */

import type { Clock } from "../../lib/core/clock.ts";
import type { Slab } from "../../lib/core/slab.ts";
import type { BodyWatch } from "../../lib/relay/body_watch.ts";
import type { Family } from "../../lib/relay/dialect.ts";
import { errorEvent, type FailureCode, failureOf, type Outcome } from "../../lib/relay/failure.ts";
import { toClient } from "../../lib/relay/headers.ts";
import type { ByteSource, Read, UpstreamAnswer } from "../../lib/relay/upstream.ts";
import type { Usage } from "../../lib/relay/usage.ts";
import { messageOf } from "./exchange_messages.ts";
import { corsHeaders } from "./response.ts";

/**
 * Status and headers of a relayed answer; null when the member's cannot be a response.
 * `crossOrigin`: a page asks, and its browser wants to know whether it may read the answer.
 */
export function answerHead(
  answer: UpstreamAnswer & { readonly kind: "answered" },
  watch: BodyWatch,
  requestId: string,
  tier: string,
  crossOrigin: boolean,
): ResponseInit | null {
  if (answer.status < 200 || answer.status > 599) return null;
  const headers = crossOrigin ? corsHeaders() : new Headers();
  try {
    for (const [name, value] of toClient(answer.headers)) {
      // A stream may get an error event of ours at its end: its length is not the member's to say.
      if (name === "content-length" && watch.isStream) continue;
      headers.append(name, value);
    }
  } catch {
    return null;
  }
  headers.set("x-request-id", requestId);
  headers.set("x-anvil-tier", tier);
  // The member has acted on it: a client library must not send it again by itself.
  if (answer.status >= 500 && !headers.has("x-should-retry")) {
    headers.set("x-should-retry", "false");
  }
  return { status: answer.status, headers };
}

/** What a relay needs. */
export interface RelayParts {
  readonly source: ByteSource;
  readonly watch: BodyWatch;
  readonly family: Family;
  readonly requestId: string;
  /** Where an answer of known, small length is read into. */
  readonly slab: Slab;
  /** The member's `content-length`, when it states one. */
  readonly declaredLength: string | undefined;
  readonly clock: Clock;
  /** Sets when the exchange is cut short, and as what, unless set again before. */
  readonly expireAt: (at: number, code: FailureCode) => void;
  /** Monotonic milliseconds by which the first byte must be there. */
  readonly firstByteBy: number;
  /** How long a member may be silent between bytes. */
  readonly idleMs: number;
  /** How long a client may not ask for more. */
  readonly stallMs: number;
  /** How long a stream may be silent before a comment of ours keeps it alive; null for never. */
  readonly heartbeatMs: number | null;
  /** Why the exchange was cut short: a code, `left`, or null when it was not. */
  readonly interrupted: () => FailureCode | "left" | null;
  /** Told once how it ended. */
  readonly ended: (outcome: Outcome, code: FailureCode | null) => void;
}

/** Events are small: one slab holds many reads, each chunk a view over its own part of it. */
const SLAB = 16 * 1024;
const LARGEST_SLAB = 64 * 1024;
/** Less room than this is not worth a read of its own. */
const LEAST_ROOM = 2 * 1024;

const encoder = new TextEncoder();

const NO_ROOM: Uint8Array<ArrayBuffer> = new Uint8Array(0);

/** A comment: every reader of event streams passes over it. */
const HEARTBEAT = encoder.encode(": anvil-router waits for the model\n\n");

/** One answer body on its way. */
export class Relayed {
  readonly #parts: RelayParts;
  #controller: ReadableStreamDefaultController<Uint8Array> | null = null;
  /** A read that was begun or done before the client asked for it. */
  #ahead: Promise<Read> | null = null;
  /** Somebody waits for a read and will see how it ends. */
  #pulling = false;
  #ended = false;
  #slabSize: number;
  /** What is left of the slab. */
  #room = NO_ROOM;
  firstByteAt: number | null = null;
  bytesOut = 0;

  constructor(parts: RelayParts) {
    this.#parts = parts;
    const length = Number(parts.declaredLength ?? NaN);
    this.#slabSize = length > 0 ? Math.min(length, LARGEST_SLAB) : SLAB;
  }

  /**
   * The body as it comes, or, after a {@link Relayed.firstRead} that brought all of it, just its
   * bytes: a stream costs more than the rest of a small exchange.
   */
  async body(): Promise<BodyInit> {
    const first = await this.#ahead;
    if (first?.kind === "bytes" && this.#parts.source.ended) {
      this.#take(first.bytes);
      this.#end({ kind: "end" });
      return first.bytes as Uint8Array<ArrayBuffer>;
    }
    return new ReadableStream<Uint8Array>({
      start: (controller) => {
        this.#controller = controller;
      },
      pull: (controller) => this.#pull(controller),
      cancel: () => this.#left(),
    }, { highWaterMark: 0 });
  }

  /**
   * Waits for the first byte or the end, before the head goes out. Returns the code to answer with
   * when the body broke before it began; the caller then ends the exchange.
   */
  async firstRead(): Promise<FailureCode | null> {
    this.#pulling = true;
    this.#ahead = this.#read();
    const read = await this.#ahead;
    this.#pulling = false;
    if (read.kind !== "broken") return null;
    const interrupted = this.#parts.interrupted();
    if (interrupted === "left") return null;
    this.#ended = true;
    return interrupted ?? "upstream_closed";
  }

  /** Takes in that the exchange was cut short. The upstream signal has been aborted already. */
  interrupt(): void {
    // A read under way ends broken and is handled where it was asked for.
    if (this.#pulling || this.#ended) return;
    if (this.#parts.interrupted() === "left") this.#left();
    else this.#end({ kind: "broken", code: "aborted", cause: "interrupted" });
  }

  /** Ends an answer that has no body. */
  discard(): void {
    this.#parts.source.cancel();
    this.#tell("completed", null);
  }

  /** What the member stated of usage so far. */
  usage(): Usage | null {
    return this.#parts.watch.usage();
  }

  async #pull(controller: ReadableStreamDefaultController<Uint8Array>): Promise<void> {
    const reading = this.#ahead ?? this.#read();
    this.#pulling = true;
    const read = await this.#orHeartbeat(reading);
    this.#pulling = false;
    this.#ahead = read === null ? reading : null;
    if (this.#ended) return;
    if (read === null) {
      this.bytesOut += HEARTBEAT.length;
      controller.enqueue(HEARTBEAT.slice());
      return;
    }
    if (read.kind !== "bytes") return this.#end(read);
    this.#take(read.bytes);
    controller.enqueue(read.bytes);
  }

  #take(bytes: Uint8Array): void {
    this.bytesOut += bytes.length;
    this.#parts.watch.push(bytes);
  }

  /** The read, or null when the stream was silent for so long that it needs a sign of life. */
  async #orHeartbeat(reading: Promise<Read>): Promise<Read | null> {
    const { heartbeatMs, watch, clock } = this.#parts;
    if (heartbeatMs === null || !watch.betweenEvents) return await reading;
    const timer = new AbortController();
    const silence = clock.sleep(heartbeatMs, timer.signal).then(() => null, () => null);
    const read = await Promise.race([reading, silence]);
    timer.abort();
    return read;
  }

  async #read(): Promise<Read> {
    const { source, clock, idleMs, stallMs, firstByteBy, expireAt } = this.#parts;
    if (this.firstByteAt === null) expireAt(firstByteBy, "upstream_first_byte_timeout");
    else expireAt(clock.monotonic() + idleMs, "upstream_idle_timeout");
    const into = this.#room.length >= Math.min(LEAST_ROOM, this.#slabSize)
      ? this.#room
      : this.#parts.slab.take(this.#slabSize);
    const room = into.length;
    const read = await source.read(into);
    const now = clock.monotonic();
    if (read.kind === "bytes") {
      this.firstByteAt ??= now;
      // Framing may stand before the bytes. A source may have taken the buffer away: no room then.
      const { buffer, byteOffset, length } = read.bytes;
      this.#room = buffer === into.buffer
        ? into.subarray(byteOffset + length - into.byteOffset)
        : NO_ROOM;
      if (read.bytes.length === room) this.#slabSize = LARGEST_SLAB;
      expireAt(now + stallMs, "client_stalled");
    }
    return read;
  }

  #left(): void {
    if (this.#ended) return;
    this.#parts.source.cancel();
    // A client may hang up as soon as it has read the terminator: that is an end like any other.
    const { kind } = this.#parts.watch.end("aborted");
    if (kind === "whole") this.#tell("completed", null);
    else this.#tell("client_closed", null);
    this.#break("the client left");
  }

  #end(read: Exclude<Read, { readonly kind: "bytes" }>): void {
    if (this.#ended) return;
    const { watch, family, requestId } = this.#parts;
    const end = watch.end(read.kind === "end" ? "end" : read.code);
    switch (end.kind) {
      case "whole":
        this.#tell("completed", null);
        return this.#controller?.close();
      case "unverified":
        this.#tell("completed_unverified", null);
        return this.#controller?.close();
      case "error_reported":
        this.#tell("upstream_error", null);
        return this.#controller?.close();
      case "truncated": {
        const interrupted = this.#parts.interrupted();
        if (interrupted === "left") return this.#left();
        const code = interrupted ?? "upstream_truncated";
        if (watch.takesEvents && code !== "client_stalled") {
          const { nextSequence } = watch;
          const message = messageOf(code);
          const event = errorEvent(family, code, message, requestId, end.midLine, nextSequence);
          const bytes = encoder.encode(event);
          this.bytesOut += bytes.length;
          this.#controller?.enqueue(bytes);
          this.#controller?.close();
        } else this.#break(code);
        return this.#tell(failureOf(code).outcome, code);
      }
    }
  }

  /** The connection to the client breaks: it must not take what it has for the whole. */
  #break(why: string): void {
    try {
      this.#controller?.error(new Error(why));
    } catch {
      // closed or broken already
    }
  }

  #tell(outcome: Outcome, code: FailureCode | null): void {
    this.#ended = true;
    this.#parts.ended(outcome, code);
  }
}
