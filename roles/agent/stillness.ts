/**
 * Who has this host: a benchmark, which needs it still, or what disturbs it, which goes first
 * (decision 0135).
 *
 *     measure: nothing disturbs? ──> measured ──> over
 *     disturb: said ──> is one measured that this touches? ──> it is told to end ──> it is over ──> act
 *
 * Saying so is one synchronous step of the one process a state folder has: of two that begin at once,
 * one finds the other.
 *
 * @module
 */

import type { Clock } from "../../lib/core/clock.ts";
import { type Refusal, refuse } from "../../lib/core/refusal.ts";
import type { Benchmark } from "../../lib/benchmark/run_state.ts";
import { claimOf, type Serve } from "../../lib/serves/manifest_shape.ts";

/** What a benchmark measures, and by which way. */
export type Through = Benchmark["through"];

/** What something disturbs; null: whatever is measured here. */
export type Touches = ((through: Through) => boolean) | null;

/** The host is still, until this is disposed of. */
export interface Measured extends Disposable {
  readonly kind: "measured";
  /** Aborted when it has to end; the reason says for whom. */
  readonly signal: AbortSignal;
  /** Its id, once it has one. */
  id: string | null;
}

/** Nothing is measured that this could disturb, until it is disposed of. */
export interface Disturbance extends Disposable {
  readonly kind: "alone";
  /** The benchmark that had to end. */
  readonly ended: string | null;
}

/** A benchmark that has to end cuts its requests off and writes a line: it may take so long. */
const OVER_MS = 15_000;

interface Now {
  readonly through: Through;
  readonly claim: Measured;
  readonly end: AbortController;
  readonly over: Promise<void>;
}

/** One of these per agent. */
export class Stillness {
  readonly #clock: Clock;
  readonly #disturbing = new Set<{ readonly what: string; readonly touches: Touches }>();
  #now: Now | null = null;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Why `through` cannot be measured now; null: it can. Without `through`: why nothing can be. */
  refusal(through?: Through): Refusal | null {
    for (const { what, touches } of this.#disturbing) {
      if (touches === null || (through !== undefined && touches(through))) return disturbed(what);
    }
    return null;
  }

  /** The benchmark that would have to end; null when there is none. */
  inTheWay(touches: Touches): string | null {
    return this.#touched(touches)?.claim.id ?? null;
  }

  /** Claims the host for a benchmark; whoever holds it already comes first. */
  measure(through: Through): Measured | Refusal {
    const no = this.refusal(through);
    if (no !== null) return no;
    if (this.#now !== null) return beingMeasured(this.#now.claim.id ?? "another benchmark");
    const end = new AbortController();
    const over = Promise.withResolvers<void>();
    const claim: Measured = {
      kind: "measured",
      signal: end.signal,
      id: null,
      [Symbol.dispose]: () => {
        this.#now = null;
        over.resolve();
      },
    };
    this.#now = { through, claim, end, over: over.promise };
    return claim;
  }

  /** Ends the benchmark that `what` touches, and lets none begin that it would touch. */
  async disturb(what: string, touches: Touches = null): Promise<Disturbance | Refusal> {
    const said = { what, touches };
    this.#disturbing.add(said);
    const now = this.#touched(touches);
    now?.end.abort(what);
    if (now === null || await this.#isOver(now)) {
      return {
        kind: "alone",
        ended: now?.claim.id ?? null,
        [Symbol.dispose]: () => void this.#disturbing.delete(said),
      };
    }
    this.#disturbing.delete(said);
    return refuse(
      "benchmark_not_over",
      `${now.claim.id ?? "a benchmark"} was told to end and is not over; nothing was changed`,
      "see `benchmarks.status`, then ask again",
    );
  }

  #touched(touches: Touches): Now | null {
    const now = this.#now;
    return now === null || touches?.(now.through) === false ? null : now;
  }

  async #isOver({ over }: Now): Promise<boolean> {
    const waiting = new AbortController();
    const late = this.#clock.sleep(OVER_MS, waiting.signal).then(() => false, () => false);
    const is = await Promise.race([over.then(() => true), late]);
    waiting.abort();
    return is;
  }
}

/** What starting or stopping `serve` disturbs: itself, and whatever is on a device of its. */
export function touchedBy(serve: Serve, serves: readonly Serve[]): Touches {
  const mine = devicesOf(serve);
  return (through) => {
    const measured = serves.filter((one) =>
      one.tier === through.tier && (through.kind === "router" || one.name === through.serve)
    );
    // What is measured and not in the manifest, as an engine of agent.toml, may be on any device.
    return measured.length === 0 ||
      measured.some((one) => devicesOf(one).some((device) => mine.includes(device)));
  };
}

/** Unified memory is one device. */
function devicesOf(serve: Serve): readonly string[] {
  const claim = claimOf(serve);
  return claim.kind === "unified" ? ["unified"] : claim.devices.map(({ device }) => device);
}

/** Something works on this host now. */
export function disturbed(what: string): Refusal {
  return refuse(
    "host_busy",
    `${what} is working on this host`,
    "wait for its end: see `promotion.status` and `operations.list`",
  );
}

/** Two at once would measure each other. */
export function beingMeasured(what: string): Refusal {
  return refuse(
    "benchmark_busy",
    `${what} is being measured on this host: two at once would measure each other`,
    "wait for its end, or cancel it: see `benchmarks.status`",
  );
}
