/**
 * Watches a response body pass and says at its end what that end means: framing that was satisfied
 * is not enough for a stream, and no framing at all (the member just closed) is not enough for JSON.
 *
 * @module
 */

import { Slab } from "../core/slab.ts";
import type { Dialect } from "./dialect.ts";
import { JsonScan } from "./json_scan.ts";
import { isWhole, StreamWatch } from "./stream_watch.ts";
import type { BodyFailure, ByteSource, HeaderList } from "./upstream.ts";
import { mergeUsage, type Usage, usageIn } from "./usage.ts";

/** How the transport says a body ended. */
export type TransportEnd = "end" | BodyFailure;

/** What a body's end means. */
export type BodyEnd =
  /** Everything is there. */
  | { readonly kind: "whole" }
  /** Nothing speaks against it; but it is encoded, or the member just closed, and nothing proves it. */
  | { readonly kind: "unverified" }
  /** The member itself reported an error in its stream. */
  | { readonly kind: "error_reported" }
  /** Something is missing. `midLine`: an unfinished line was the last thing the member sent. */
  | { readonly kind: "truncated"; readonly midLine: boolean };

/** Bytes kept of the end of a body that is not a stream of events: usage stands there. */
const TAIL = 2048;

const decoder = new TextDecoder();

/** Watches one body. */
export class BodyWatch {
  /** True when the body is a stream of events. */
  readonly isStream: boolean;
  readonly #dialect: Dialect;
  readonly #stream: StreamWatch | null;
  readonly #scan: JsonScan | null;
  readonly #encoded: boolean;
  /** True when only the member's FIN says where the body ends. */
  readonly #unframed: boolean;
  #tail: Uint8Array | null = null;
  #tailLength = 0;

  constructor(dialect: Dialect, headers: HeaderList, framing: ByteSource["framing"]) {
    this.#dialect = dialect;
    const valueOf = (wanted: string) => headers.find(([name]) => name === wanted)?.[1] ?? "";
    const type = valueOf("content-type").toLowerCase();
    const encoding = valueOf("content-encoding").toLowerCase();
    this.isStream = type.startsWith("text/event-stream");
    this.#encoded = encoding !== "" && encoding !== "identity";
    this.#stream = this.isStream && !this.#encoded ? new StreamWatch(dialect) : null;
    this.#unframed = framing === "close";
    const unframedJson = this.#unframed && /^application\/json\s*(;|$)/.test(type);
    this.#scan = unframedJson && !this.#encoded ? new JsonScan("answer") : null;
  }

  /**
   * True when an event of ours can be put at the end. Not where the last line is a terminator that
   * lacks only its line end: finishing it would be forging it.
   */
  get takesEvents(): boolean {
    return this.#stream !== null && !this.#stream.midTerminator;
  }

  /** True in a stream where an event of ours would not cut one of the member's in two. */
  get betweenEvents(): boolean {
    return this.#stream !== null && !this.#stream.midEvent;
  }

  /** See {@link StreamWatch.open}; null when what passes is not read as events. */
  get open(): number | null {
    return this.#stream?.open ?? null;
  }

  /** The number of the next event, in the dialect that counts them; null in all others. */
  get nextSequence(): number | null {
    if (this.#dialect !== "openai-responses" || this.#stream === null) return null;
    const numbers = this.#stream.end().data.map((line) =>
      Number(/"sequence_number"\s*:\s*(\d+)/.exec(line)?.[1] ?? -1)
    );
    return Math.max(-1, ...numbers) + 1;
  }

  /** Takes the next bytes; keeps no reference to them. */
  push(bytes: Uint8Array): void {
    if (this.#stream !== null) this.#stream.push(bytes);
    else if (!this.#encoded) {
      this.#scan?.push(bytes);
      this.#keep(bytes);
    }
  }

  /** What it means that the transport ended so. */
  end(transport: TransportEnd): BodyEnd {
    if (this.#stream !== null) {
      const end = this.#stream.end();
      // Engines that report an error may still terminate the stream well.
      if (end.errorReported && !end.midEvent) return { kind: "error_reported" };
      // After a terminator the client has all of it; how the connection broke then is nobody's loss.
      if (isWhole(end) && (end.terminated || transport === "end")) return { kind: "whole" };
      if (transport === "end" && !this.#stream.needsTerminator && !end.midEvent) {
        return { kind: "whole" };
      }
      return { kind: "truncated", midLine: end.midLine };
    }
    if (transport !== "end") return { kind: "truncated", midLine: false };
    if (this.#encoded) return { kind: "unverified" };
    if (this.#scan === null) return { kind: this.#unframed ? "unverified" : "whole" };
    return this.#scan.isComplete ? { kind: "whole" } : { kind: "truncated", midLine: false };
  }

  /** What the member stated of usage. */
  usage(): Usage | null {
    if (this.#stream === null) {
      return this.#tail === null
        ? null
        : usageIn(decoder.decode(this.#tail.subarray(0, this.#tailLength)));
    }
    return this.#stream.end().data.reduce<Usage | null>(
      (known, line) => mergeUsage(known, usageIn(line)),
      null,
    );
  }

  #keep(bytes: Uint8Array): void {
    this.#tail ??= tails.take(TAIL);
    const more = Math.min(bytes.length, TAIL);
    const kept = Math.min(this.#tailLength, TAIL - more);
    if (kept > 0) this.#tail.copyWithin(0, this.#tailLength - kept, this.#tailLength);
    this.#tail.set(more === bytes.length ? bytes : bytes.subarray(bytes.length - more), kept);
    this.#tailLength = kept + more;
  }
}

/** A buffer of its own would cost as much as the rest of the watch. */
const tails = new Slab(64 * 1024);
