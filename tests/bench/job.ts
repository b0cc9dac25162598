/**
 * What the harness asks of a load process, and what it gets back.
 *
 * @module
 */

/** Where to, and whom to watch. */
export interface Target {
  readonly port: number;
  readonly upstreamPort: number;
  readonly headers: Readonly<Record<string, string>>;
  /** The relay's processes; none for "direct". */
  readonly relayPids: readonly number[];
  readonly upstreamPid: number;
  /** Resident memory of the relay before its first load, bytes. */
  readonly idleResident: number;
  /** False for a relay that writes JSON anew: then fields are compared, not bytes. */
  readonly exact: boolean;
}

/** What to do there. */
export type Work =
  | {
    readonly kind: "json";
    readonly connections: number;
    readonly warmSeconds: number;
    readonly seconds: number;
  }
  | {
    readonly kind: "sse";
    /** Prefixes the numbers. */
    readonly name: string;
    readonly streams: number;
    /** Of each stream. */
    readonly eventsPerSecond: number;
    readonly warmSeconds: number;
    readonly seconds: number;
  }
  | { readonly kind: "cancel"; readonly aborts: number; readonly parallel: number }
  | { readonly kind: "uploads"; readonly parallel: number; readonly each: number };

/** One load process's argument. */
export interface Job {
  readonly target: Target;
  readonly work: Work;
}

/** What it saw. With any problem the numbers do not count. */
export interface Seen {
  /** By name; units are in the metric table. Absent: not measured. */
  readonly numbers: Readonly<Record<string, number>>;
  /** What was not as it must be; bounded. */
  readonly problems: readonly string[];
}

const MOST = 5;

/** Collects problems, the first few in words and the rest as a count. */
export class Problems {
  #first: string[] = [];
  #more = 0;

  add(problem: string): void {
    if (this.#first.includes(problem) || this.#first.length >= MOST) this.#more++;
    else this.#first.push(problem);
  }

  get count(): number {
    return this.#first.length + this.#more;
  }

  list(): string[] {
    return this.#more === 0 ? this.#first : [...this.#first, `and ${this.#more} more of these`];
  }
}
