/**
 * CPU over a window: of the relay, and of the instrument itself (this process and the upstream).
 *
 * @module
 */

import type { Target } from "./job.ts";
import { monotonicMicros } from "./libc.ts";
import { cpuBetween, type CpuTime, cpuTime, machineTime } from "./process_facts.ts";

/** A window's cost. */
export interface Cost {
  readonly micros: number;
  /** CPU time of the relay in it, us. */
  readonly relay: number;
  /** Share of one core the relay used; above 0.9 it was at its limit. */
  readonly relayBusy: number;
  /** Share of one core that load and upstream used together. */
  readonly loadBusy: number;
  /** Cores that anything else on the machine used: above 0.1 the figures are of a shared machine. */
  readonly othersBusy: number;
}

interface Reading {
  readonly at: number;
  readonly relay: CpuTime;
  readonly load: CpuTime;
  /** All cores, us. */
  readonly machine: number;
}

/** Started at the window's beginning. */
export class Meter {
  readonly #from: Reading;

  constructor(private readonly target: Target) {
    this.#from = this.#read();
  }

  stop(): Cost {
    const to = this.#read();
    const micros = to.at - this.#from.at;
    const relay = cpuBetween(this.#from.relay, to.relay);
    const load = cpuBetween(this.#from.load, to.load);
    const others = Math.max(0, to.machine - this.#from.machine - relay - load);
    return {
      micros,
      relay,
      relayBusy: relay / micros,
      loadBusy: load / micros,
      othersBusy: others / micros,
    };
  }

  #read(): Reading {
    const { relayPids, upstreamPid } = this.target;
    return {
      at: monotonicMicros(),
      relay: cpuTime(relayPids),
      load: cpuTime([Deno.pid, upstreamPid]),
      machine: machineTime(),
    };
  }
}
