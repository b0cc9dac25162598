/**
 * Who is looked at next, and when: each host in turn, so many at once, hosts that fail less often,
 * and nobody at all while nobody reads the page.
 *
 *     read by somebody ──the last reader left──> so long on ──> paused
 *            ^                                                    │
 *            └────────────────── somebody reads ──────────────────┘  at once, everybody
 *
 * @module
 */

import type { Clock } from "../../../lib/core/clock.ts";
import { SLOW_EVERY } from "./reads.ts";

/** What it needs. */
export interface PollerParts {
  readonly clock: Clock;
  /** A number from 0 up to 1, for jitter. */
  readonly chance: () => number;
  /** Looks at one host; says whether it answered. */
  readonly look: (host: string, slow: boolean) => Promise<boolean>;
}

/** How it is paced. */
export interface Pace {
  /** Looks at once. */
  readonly atOnce: number;
  /** Between two looks at a host that answers, in milliseconds. */
  readonly periodMs: number;
}

/** The least time between two looks at a host, in milliseconds; and per host of the fleet. */
const LEAST_MS = 5000;
const PER_HOST_MS = 30;
/** Looks at once. */
const AT_ONCE = 32;
/** A host that does not answer is looked at this much less often at most. */
const MOST_BACKOFF = 8;
/** Part of the period by which a look may come earlier or later. */
const JITTER = 0.2;

/** The pace of a fleet: a thousand hosts take a small part of one processor. */
export function paceOf(hosts: number): Pace {
  return { atOnce: AT_ONCE, periodMs: Math.max(LEAST_MS, hosts * PER_HOST_MS) };
}

interface Turn {
  due: number;
  looks: number;
  failed: number;
}

/** The poller. */
export class Poller {
  readonly #parts: PollerParts;
  readonly #turns = new Map<string, Turn>();
  readonly #looking = new Map<string, Promise<void>>();
  #pace: Pace;
  #readers = 0;
  #leftAt: number;
  #nudge = Promise.withResolvers<void>();

  constructor(parts: PollerParts, hosts: readonly string[], pace: Pace = paceOf(hosts.length)) {
    this.#parts = parts;
    this.#pace = pace;
    this.#leftAt = parts.clock.monotonic();
    this.#spread(hosts);
  }

  get pace(): Pace {
    return this.#pace;
  }

  /** True while nobody is looked at because nobody reads. */
  get paused(): boolean {
    return this.#readers === 0 && this.#parts.clock.monotonic() > this.#leftAt + this.lingerMs;
  }

  /** So long it goes on after the last reader left: one slow beat, in milliseconds. */
  get lingerMs(): number {
    return this.#pace.periodMs * SLOW_EVERY;
  }

  /** How old an answer may be and still be fresh, in milliseconds. */
  get freshMs(): number {
    return this.#pace.periodMs * (1 + JITTER) * 2;
  }

  /** Hosts that are being looked at now. */
  get looking(): number {
    return this.#looking.size;
  }

  /** Hosts it knows. */
  get hosts(): number {
    return this.#turns.size;
  }

  /** Somebody reads, until the function it gives is called. */
  read(): () => void {
    const woken = this.paused;
    this.#readers++;
    if (woken) this.#everybody();
    this.#wake();
    let once = true;
    return () => {
      if (once) this.#readers--;
      once = false;
      this.#leftAt = this.#parts.clock.monotonic();
    };
  }

  /** Looks at these hosts from now on. */
  retarget(hosts: readonly string[], pace: Pace = paceOf(hosts.length)): void {
    this.#pace = pace;
    const wanted = new Set(hosts);
    for (const host of [...this.#turns.keys()]) if (!wanted.has(host)) this.#turns.delete(host);
    this.#spread(hosts.filter((host) => !this.#turns.has(host)));
    this.#wake();
  }

  /** Works until `signal`, and waits for what is begun. */
  async run(signal: AbortSignal): Promise<void> {
    const { clock } = this.#parts;
    const onAbort = () => this.#wake();
    signal.addEventListener("abort", onAbort, { once: true });
    while (!signal.aborted) {
      const nudged = this.#nudge.promise;
      const next = this.paused || this.#looking.size >= this.#pace.atOnce ? null : this.#next();
      if (next === null) {
        await nudged;
        continue;
      }
      const [host, turn] = next;
      const wait = turn.due - clock.monotonic();
      if (wait <= 0) this.#begin(host, turn);
      else {
        const over = new AbortController();
        await Promise.race([nudged, clock.sleep(wait, over.signal).catch(() => {})]);
        over.abort();
      }
    }
    signal.removeEventListener("abort", onAbort);
    await Promise.all(this.#looking.values());
  }

  #begin(host: string, turn: Turn): void {
    // A host that comes back is asked for everything: what was known of it is old.
    const slow = turn.looks % SLOW_EVERY === 0 || turn.failed > 0;
    const looking = this.#parts.look(host, slow).then((answered) => {
      turn.looks++;
      turn.failed = answered ? 0 : turn.failed + 1;
      const backoff = Math.min(MOST_BACKOFF, 2 ** turn.failed);
      const jitter = 1 - JITTER + this.#parts.chance() * 2 * JITTER;
      turn.due = this.#parts.clock.monotonic() + this.#pace.periodMs * backoff * jitter;
    }).finally(() => {
      this.#looking.delete(host);
      this.#wake();
    });
    this.#looking.set(host, looking);
  }

  #next(): readonly [string, Turn] | null {
    let next: readonly [string, Turn] | null = null;
    for (const one of this.#turns) {
      if (!this.#looking.has(one[0]) && (next === null || one[1].due < next[1].due)) next = one;
    }
    return next;
  }

  #spread(hosts: readonly string[]): void {
    const due = this.#parts.clock.monotonic();
    for (const host of hosts) this.#turns.set(host, { due, looks: 0, failed: 0 });
  }

  #everybody(): void {
    const due = this.#parts.clock.monotonic();
    for (const turn of this.#turns.values()) {
      turn.due = due;
      turn.looks = 0;
    }
  }

  #wake(): void {
    this.#nudge.resolve();
    this.#nudge = Promise.withResolvers<void>();
  }
}
