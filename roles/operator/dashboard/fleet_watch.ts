/**
 * The fleet as this process sees it: one writer, many readers. Everything in it is bounded by the
 * number of hosts; nothing is kept on disk, and a fresh process begins with nothing but what
 * `seen.json` remembers, marked as such.
 *
 * @module
 */

import type { HostTold, ServeExpected } from "../../../lib/dispatch/capability.ts";
import type { PlannedHost } from "../../../lib/dispatch/plan.ts";
import type { Looked } from "../../../lib/dispatch/visit.ts";
import type { FleetIndex } from "../../../lib/topology/fleet_index.ts";
import type { Seen } from "../seen.ts";
import { type ChangeKind, changesBetween } from "./changes.ts";
import { type NodeView, observed, unasked } from "./node_view.ts";
import { Ring } from "./ring.ts";
import { inFlightOf, latencyOf } from "./router_seen.ts";

/** Something that happened, as the feed tells it. */
export interface FleetEvent {
  /** Ascending, from 1, in this process. */
  readonly seq: number;
  /** Wall clock, milliseconds. */
  readonly at: number;
  /** Null: about the fleet. */
  readonly host: string | null;
  readonly kind: ChangeKind | "topology";
  readonly text: string;
}

/** The last numbers of one host. */
export interface Trend {
  /** Requests in flight at each look. */
  readonly inFlight: Ring;
  /** The slowest tier's p95 at each look, in milliseconds. */
  readonly latency: Ring;
}

/** The topology that is looked at. */
export interface Watched {
  /** Where it is from, in words. */
  readonly name: string;
  readonly index: FleetIndex;
  readonly fingerprint: string;
  readonly hosts: readonly PlannedHost[];
  /** What the home declares to be served; empty when no home was read. */
  readonly expected: readonly ServeExpected[];
}

/** Events that are held. */
export const MOST_EVENTS = 200;
/** Numbers of a trend. */
export const TREND_LENGTH = 40;

/** The watch. */
export class FleetWatch {
  /** Names this process in the ids of events. */
  readonly epoch: string;
  readonly startedAt: number;
  readonly #views = new Map<string, NodeView>();
  readonly #trends = new Map<string, Trend>();
  readonly #events: FleetEvent[] = [];
  readonly #listeners = new Set<() => void>();
  #watched: Watched;
  #problem: string | null = null;
  #seq = 0;
  #version = 0;

  constructor(epoch: string, watched: Watched, seen: Seen, now: number) {
    this.epoch = epoch;
    this.startedAt = now;
    this.#watched = watched;
    for (const { host } of watched.hosts) this.#begin(host, seen);
  }

  get watched(): Watched {
    return this.#watched;
  }

  /** Why the topology could not be read again; null when it could. */
  get problem(): string | null {
    return this.#problem;
  }

  /** Goes up with every change. */
  get version(): number {
    return this.#version;
  }

  /** In ascending order of the hosts' ids. */
  get views(): readonly NodeView[] {
    return this.#watched.hosts.map(({ host }) => this.#views.get(host) ?? unasked(host, null));
  }

  /** Oldest first. */
  get events(): readonly FleetEvent[] {
    return this.#events;
  }

  viewOf(host: string): NodeView | null {
    return this.#views.get(host) ?? null;
  }

  trendOf(host: string): Trend | null {
    return this.#trends.get(host) ?? null;
  }

  /** Takes in how a look at a host ended at `now`. */
  take(host: string, looked: Looked, told: HostTold, now: number): void {
    const before = this.#views.get(host);
    const trend = this.#trends.get(host);
    if (before === undefined || trend === undefined) return; // the topology lost it meanwhile
    const after = observed(before, looked, told, now, this.#watched.fingerprint);
    this.#views.set(host, after);
    trend.inFlight.push(inFlightOf(after.router));
    trend.latency.push(latencyOf(after.router));
    for (const { kind, text } of changesBetween(before, after)) this.#tell(now, host, kind, text);
    this.#changed();
  }

  /** Looks at another topology from now on; hosts of both keep what is known of them. */
  rewatch(watched: Watched, seen: Seen, now: number): void {
    const had = this.#watched;
    const cleared = this.#problem !== null;
    this.#problem = null;
    if (had.fingerprint !== watched.fingerprint) {
      this.#watched = watched;
      const hosts = new Set(watched.hosts.map(({ host }) => host));
      for (const host of [...this.#views.keys()]) {
        if (hosts.has(host)) continue;
        this.#views.delete(host);
        this.#trends.delete(host);
      }
      for (const host of hosts) if (!this.#views.has(host)) this.#begin(host, seen);
      this.#tell(now, null, "topology", `the topology is ${watched.name} now`);
    } else {
      if (cleared) this.#tell(now, null, "topology", "the topology can be read again");
      const expected = JSON.stringify(had.expected) !== JSON.stringify(watched.expected);
      if (expected) {
        this.#watched = watched;
        this.#tell(now, null, "topology", "the home declares other serves now");
      }
      if (!cleared && !expected) return;
    }
    this.#changed();
  }

  /** Remembers that the topology cannot be read; the old one stays in use. */
  lost(why: string, now: number): void {
    if (this.#problem === why) return;
    this.#problem = why;
    this.#tell(now, null, "topology", `the topology cannot be read: ${why}`);
    this.#changed();
  }

  /** Calls `listener` after each change; the function it gives ends that. */
  listen(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  #begin(host: string, seen: Seen): void {
    this.#views.set(host, unasked(host, seen.get(host) ?? null));
    const ring = () => new Ring(TREND_LENGTH);
    this.#trends.set(host, { inFlight: ring(), latency: ring() });
  }

  #tell(at: number, host: string | null, kind: FleetEvent["kind"], text: string): void {
    this.#events.push({ seq: ++this.#seq, at, host, kind, text: text.slice(0, 300) });
    if (this.#events.length > MOST_EVENTS) this.#events.shift();
  }

  #changed(): void {
    this.#version++;
    for (const listener of [...this.#listeners]) listener();
  }
}
