/**
 * Idle connections: the newest is used first, none is kept longer than `idleMs`, and each is
 * watched by a pending read, so that one the member closed (or spoke on) is gone before it is used.
 *
 * @module
 */

import type { Clock } from "../core/clock.ts";
import type { Line } from "./http1_line.ts";

/** How many and how long. */
export interface IdleLimits {
  readonly perEndpoint: number;
  /** Milliseconds. */
  readonly idleMs: number;
}

/** The idle connections of one client. */
export class IdlePool {
  readonly #clock: Clock;
  readonly #limits: IdleLimits;
  /** Oldest first. */
  readonly #idle = new Map<string, Line[]>();
  readonly #closing = new AbortController();
  #sweeping = false;

  constructor(clock: Clock, limits: IdleLimits) {
    this.#clock = clock;
    this.#limits = limits;
  }

  /** A live connection to `key`, or null. Its pending read goes with it. */
  take(key: string): Line | null {
    const line = this.#idle.get(key)?.pop();
    if (line === undefined) return null;
    if (this.#clock.monotonic() - line.idleSince < this.#limits.idleMs) return line;
    line.close(); // the older ones below it are over as well; the sweep closes them
    return null;
  }

  /** Keeps `line` for the next request to `key`, or closes it where there is no room. */
  put(key: string, line: Line): void {
    const lines = this.#idle.get(key) ?? [];
    if (this.#closing.signal.aborted || lines.length >= this.#limits.perEndpoint) {
      return line.close();
    }
    this.#idle.set(key, lines);
    line.idleSince = this.#clock.monotonic();
    lines.push(line);
    line.watch(() => {
      const at = lines.indexOf(line);
      if (at >= 0) lines.splice(at, 1);
      line.close();
    });
    if (!this.#sweeping) this.#sweep();
  }

  /** Closes every idle connection, and from now on every one that comes back. */
  close(): void {
    this.#closing.abort();
    for (const lines of this.#idle.values()) for (const line of lines.splice(0)) line.close();
  }

  /** One timer for all of them: sleeps until the oldest is over, for as long as there is any. */
  async #sweep(): Promise<void> {
    this.#sweeping = true;
    try {
      for (let next = this.#limits.idleMs; next > 0; next = this.#expire()) {
        await this.#clock.sleep(next, this.#closing.signal);
      }
    } catch {
      // closed while it slept; `close` has done the rest
    }
    this.#sweeping = false;
  }

  /** Closes what is over; gives the milliseconds until the next one is, 0 when none is idle. */
  #expire(): number {
    const now = this.#clock.monotonic();
    let next = 0;
    for (const lines of this.#idle.values()) {
      const live = lines.findIndex((line) => now - line.idleSince < this.#limits.idleMs);
      for (const line of lines.splice(0, live < 0 ? lines.length : live)) line.close();
      const oldest = lines[0];
      if (oldest === undefined) continue;
      const due = Math.max(1, this.#limits.idleMs - (now - oldest.idleSince));
      next = next === 0 ? due : Math.min(next, due);
    }
    return next;
  }
}
