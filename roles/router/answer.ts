/**
 * The member's answer on its way to the client: bytes untouched, the end judged.
 *
 *     read from the member ──> watch ──> hold ──> write to the client ──> read …
 *
 * Of a stream whole events pass, as soon as they are whole; of anything else every byte at once.
 * Nothing is read from the member before the system took what was read before, so a slow client
 * slows the engine down and memory stays flat.
 *
 * @module
 */

import type { Clock } from "../../lib/core/clock.ts";
import type { Reply } from "../../lib/intake/asked.ts";
import type { BodyWatch } from "../../lib/relay/body_watch.ts";
import type { Family } from "../../lib/relay/dialect.ts";
import { EventHold } from "../../lib/relay/event_hold.ts";
import { errorEvent, type FailureCode, failureOf, type Outcome } from "../../lib/relay/failure.ts";
import { toClient } from "../../lib/relay/headers.ts";
import type { ByteSource, HeaderList, Read, UpstreamAnswer } from "../../lib/relay/upstream.ts";
import type { Usage } from "../../lib/relay/usage.ts";
import { messageOf } from "./exchange_messages.ts";
import { CORS, requestIdHeaders } from "./response.ts";

/** Status and headers of an answer that is relayed. */
export interface AnswerHead {
  readonly status: number;
  readonly headers: HeaderList;
  /** What the member says its body has, where that holds for ours too. */
  readonly length: number | null;
}

/**
 * Status and headers of a relayed answer; null when the member's cannot be a response.
 * `crossOrigin`: a page asks, and its browser wants to know whether it may read the answer.
 */
export function answerHead(
  answer: UpstreamAnswer & { readonly kind: "answered" },
  watch: BodyWatch,
  family: Family,
  requestId: string,
  tier: string,
  crossOrigin: boolean,
): AnswerHead | null {
  if (answer.status < 200 || answer.status > 599) return null;
  const headers = toClient(answer.headers);
  let length: number | null = null;
  let retry = false;
  for (const [name, value] of headers) {
    if (name === "content-length") length = Number(value);
    else if (name === "x-should-retry") retry = true;
  }
  if (crossOrigin) headers.push(...CORS as [string, string][]);
  headers.push(...requestIdHeaders(family, requestId) as [string, string][]);
  headers.push(["x-anvil-tier", tier]);
  // The member has acted on it: a client library must not send it again by itself.
  if (answer.status >= 500 && !retry) headers.push(["x-should-retry", "false"]);
  // A stream may get an error event of ours at its end: its length is not the member's to say.
  return { status: answer.status, headers, length: watch.isStream ? null : length };
}

/** What a relay needs. */
export interface RelayParts {
  readonly source: ByteSource;
  readonly watch: BodyWatch;
  readonly reply: Reply;
  readonly head: AnswerHead;
  readonly family: Family;
  readonly requestId: string;
  readonly clock: Clock;
  /**
   * Cuts the exchange short after so many milliseconds, and as what, unless set again before. The
   * limit for the first byte is set already.
   */
  readonly expireIn: (ms: number, code: FailureCode) => void;
  /** How long a member may be silent between bytes. */
  readonly idleMs: number;
  /** How long a client may not take what is written to it. */
  readonly stallMs: number;
  /** How long a stream may be silent before a comment of ours keeps it alive; null for never. */
  readonly heartbeatMs: number | null;
  /** Why the exchange was cut short: a code, `left`, or null when it was not. */
  readonly interrupted: () => FailureCode | "left" | null;
  /** Told once how it ended. */
  readonly ended: (outcome: Outcome, code: FailureCode | null) => void;
}

const encoder = new TextEncoder();

const END = { kind: "end" } as const;

/** A comment: every reader of event streams passes over it. */
const HEARTBEAT = encoder.encode(": anvil-router waits for the model\n\n");

/** One answer body on its way. */
export class Relayed {
  readonly #parts: RelayParts;
  readonly #source: ByteSource;
  readonly #reply: Reply;
  /** Null while nothing is kept back: most members send events whole. */
  #hold: EventHold | null = null;
  #ended = false;
  /** A write is under way. */
  #writing = false;
  /** A comment is on its way out while a read waits. */
  #beating: Promise<boolean> | null = null;
  #reading = false;
  /** When the silence of this read was first looked at. */
  #silentSince: number | null = null;
  firstByteAt: number | null = null;
  bytesOut = 0;

  constructor(parts: RelayParts) {
    this.#parts = parts;
    this.#source = parts.source;
    this.#reply = parts.reply;
  }

  /**
   * Relays to the end. Returns a code when the answer broke before anything of it was sent: the
   * caller then answers with that, and ends the exchange.
   */
  async run(): Promise<FailureCode | null> {
    const { head, watch } = this.#parts;
    const { status, headers, length } = head;
    if (status === 204 || status === 205 || status === 304) return await this.#bodiless();
    // An answer that is no stream is held until its first byte: until then it can still become a
    // clean error instead of a head with nothing behind it.
    let read: Read | null = null;
    if (!watch.isStream || this.#source.holds) {
      read = await this.#read();
      if (read.kind === "broken" && !watch.isStream) return this.#beforeHead();
    }
    let first: Uint8Array | null = null;
    if (read?.kind === "bytes") {
      first = this.#take(read.bytes);
      if (first.length === 0) first = null;
      read = this.#source.ended ? END : null;
      if (read !== null && !watch.isStream && watch.end("end").kind !== "truncated") {
        await this.#wrote(this.#reply.whole(status, headers, first));
        this.#judge(END);
        return null;
      }
    }
    await this.#pump(read, await this.#wrote(this.#reply.open(status, headers, length, first)));
    return null;
  }

  /** Takes in that the exchange was cut short: the member is let go, a write that waits is broken. */
  interrupt(): void {
    if (this.#ended) return;
    this.#source.cancel();
    // What a stopped router still owes goes out behind what is being written.
    if (this.#writing && this.#parts.interrupted() !== "router_stopped") this.#reply.break();
  }

  /** Keeps a silent stream alive. */
  beat(now: number): void {
    const { heartbeatMs, watch } = this.#parts;
    if (heartbeatMs === null || !this.#reading || !this.#reply.begun) return;
    this.#silentSince ??= now;
    const between = watch.betweenEvents || this.#hold?.holds === true;
    if (now - this.#silentSince < heartbeatMs || !between) return;
    if (this.#beating !== null) return;
    this.#silentSince = now;
    this.bytesOut += HEARTBEAT.length;
    this.#beating = this.#reply.write(HEARTBEAT).finally(() => this.#beating = null);
  }

  /** What the member stated of usage so far. */
  usage(): Usage | null {
    return this.#parts.watch.usage();
  }

  async #pump(ahead: Read | null, open: boolean): Promise<void> {
    const { watch } = this.#parts;
    let read = ahead;
    for (let going = open; going;) {
      read ??= await this.#read();
      if (this.#beating !== null) await this.#beating;
      if (read.kind !== "bytes") return await this.#finish(read);
      const bytes = this.#take(read.bytes);
      read = this.#source.ended ? END : null;
      if (read !== null && watch.end("end").kind !== "truncated") {
        if (await this.#wrote(this.#reply.end(bytes))) return this.#judge(END);
        break;
      }
      if (bytes.length > 0) going = await this.#wrote(this.#reply.write(bytes));
    }
    this.#left();
  }

  async #bodiless(): Promise<null> {
    const { status, headers } = this.#parts.head;
    this.#source.cancel();
    await this.#wrote(this.#reply.whole(status, headers, null));
    this.#tell("completed", null);
    return null;
  }

  #beforeHead(): FailureCode | null {
    const interrupted = this.#parts.interrupted();
    if (interrupted === "left") {
      this.#left();
      return null;
    }
    this.#ended = true;
    return interrupted ?? "upstream_closed";
  }

  /** What may be written now that these bytes have come. */
  #take(bytes: Uint8Array): Uint8Array {
    const { watch } = this.#parts;
    watch.push(bytes);
    const { open } = watch;
    if (open !== null && open > 0) this.#hold ??= new EventHold();
    const passed = this.#hold === null || open === null ? bytes : this.#hold.pass(bytes, open);
    this.bytesOut += passed.length;
    return passed;
  }

  async #wrote(writing: Promise<boolean>): Promise<boolean> {
    this.#writing = true;
    const going = await writing;
    this.#writing = false;
    return going;
  }

  async #read(): Promise<Read> {
    const { clock, idleMs, stallMs, expireIn } = this.#parts;
    if (this.firstByteAt !== null) expireIn(idleMs, "upstream_idle_timeout");
    this.#silentSince = null;
    this.#reading = true;
    const read = await this.#source.read(this.#reply.space());
    this.#reading = false;
    if (read.kind === "bytes") {
      this.firstByteAt ??= clock.monotonic();
      expireIn(stallMs, "client_stalled");
    }
    return read;
  }

  /** The client is gone, or its connection was broken by us. */
  #left(): void {
    if (this.#ended) return;
    this.#source.cancel();
    const interrupted = this.#parts.interrupted();
    // A client may hang up as soon as it has read the terminator: that is an end like any other.
    if (this.#parts.watch.end("aborted").kind === "whole") this.#tell("completed", null);
    else if (interrupted === null || interrupted === "left") this.#tell("client_closed", null);
    else this.#tell(failureOf(interrupted).outcome, interrupted);
    this.#reply.break();
  }

  /** The member's body is over, one way or another, and the client has what came of it. */
  async #finish(read: Exclude<Read, { readonly kind: "bytes" }>): Promise<void> {
    const { watch, family, requestId } = this.#parts;
    const end = watch.end(read.kind === "end" ? "end" : read.code);
    if (end.kind !== "truncated") {
      const told = await this.#wrote(this.#reply.end(null));
      if (told) return this.#judge(read);
      return this.#left();
    }
    const interrupted = this.#parts.interrupted();
    if (interrupted === "left") return this.#left();
    const code = interrupted ?? "upstream_truncated";
    // An event that was kept back is none: the client has whole ones, and ours can follow them.
    const unseen = this.#hold?.holds === true;
    if ((unseen || watch.takesEvents) && code !== "client_stalled") {
      const { nextSequence } = watch;
      const message = messageOf(code);
      const midLine = end.midLine && !unseen;
      const event = errorEvent(family, code, message, requestId, midLine, nextSequence);
      const bytes = encoder.encode(event);
      this.bytesOut += bytes.length;
      await this.#wrote(this.#reply.end(bytes));
    } else this.#reply.break();
    this.#tell(failureOf(code).outcome, code);
  }

  /** Records the end of an answer that is not truncated. */
  #judge(read: Exclude<Read, { readonly kind: "bytes" }>): void {
    const { kind } = this.#parts.watch.end(read.kind === "end" ? "end" : read.code);
    if (kind === "unverified") this.#tell("completed_unverified", null);
    else if (kind === "error_reported") this.#tell("upstream_error", null);
    else this.#tell("completed", null);
  }

  #tell(outcome: Outcome, code: FailureCode | null): void {
    if (this.#ended) return;
    this.#ended = true;
    this.#parts.ended(outcome, code);
  }
}
