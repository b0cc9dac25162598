/**
 * The decisions of this router: the newest in memory, all of them to the record sink, and live to
 * whoever follows.
 *
 * @module
 */

import type { RecordSink } from "../../lib/core/record_sink.ts";
import type { Decision } from "./decision.ts";

/** Decisions held in memory. */
export const HELD = 1000;
/** Decisions a follower may be behind before it is let go. */
const MOST_BEHIND = 1000;
/** Followers at once. */
const MOST_FOLLOWERS = 16;

const encoder = new TextEncoder();

/** Takes decisions in and hands them out. */
export class Decisions {
  readonly #sink: RecordSink<Decision> | null;
  readonly #recent: Decision[] = [];
  readonly #followers = new Set<ReadableStreamDefaultController<Uint8Array>>();

  constructor(sink: RecordSink<Decision> | null) {
    this.#sink = sink;
  }

  /** Records that could not be kept. */
  get lost(): number {
    return this.#sink?.lost ?? 0;
  }

  /** Takes one in. Never waits, never throws. */
  take(decision: Decision): void {
    this.#recent.push(decision);
    if (this.#recent.length > HELD) this.#recent.shift();
    this.#sink?.write(decision);
    if (this.#followers.size === 0) return;
    const line = encoder.encode(`${JSON.stringify(decision)}\n`);
    for (const follower of this.#followers) {
      if ((follower.desiredSize ?? 0) <= 0) this.#drop(follower);
      else follower.enqueue(line);
    }
  }

  /** The newest `count`, oldest first. */
  newest(count: number): readonly Decision[] {
    return this.#recent.slice(-count);
  }

  /**
   * Lines of JSON, one per decision from now on; null when too many follow already. A follower that
   * falls behind is let go: its stream ends.
   */
  follow(): ReadableStream<Uint8Array> | null {
    if (this.#followers.size >= MOST_FOLLOWERS) return null;
    let mine: ReadableStreamDefaultController<Uint8Array>;
    return new ReadableStream<Uint8Array>({
      start: (controller) => {
        mine = controller;
        this.#followers.add(controller);
      },
      cancel: () => void this.#followers.delete(mine),
    }, { highWaterMark: MOST_BEHIND });
  }

  /** Ends all followers and waits until what was taken in is kept or counted as lost. */
  async close(): Promise<void> {
    for (const follower of this.#followers) this.#drop(follower);
    await this.#sink?.flush();
  }

  #drop(follower: ReadableStreamDefaultController<Uint8Array>): void {
    this.#followers.delete(follower);
    follower.close();
  }
}
