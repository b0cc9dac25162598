/**
 * Bringing serves up and down on one host.
 *
 *     up:   one start at a time ─> resolve ─> who runs? ─> dependencies ─> port ─> budget ─> start
 *             ─> look until: healthy and its model proven ─> its process proven ─> up
 *                            its process gone ─> died, with its last lines
 *     down: nobody depends on it ─> stop ─> proven gone
 *
 * Nothing is kept: whoever comes after a crash looks again and finds what there is.
 *
 * @module
 */

import type { Clock } from "../core/clock.ts";
import type { TryLock } from "../core/lock.ts";
import { type Refusal, refuse } from "../core/refusal.ts";
import { type Budget, budget, explainBudget, type Memory, type MemoryFacts } from "./budget.ts";
import type { Driver, Instance, Occupant, ServeState, Unknown } from "./driver.ts";
import type { DownEnd, Lifecycle, OnProgress, UpEnd, UpFault } from "./lifecycle_outcome.ts";
import { died, Teller, watch } from "./lifecycle_watch.ts";
import { claimOf, type Serve } from "./manifest_shape.ts";
import { portNow } from "./port_proof.ts";
import type { OsFacts } from "./os_facts.ts";
import type { Probe } from "./probe.ts";

/** What a lifecycle needs. */
export interface LifecycleParts {
  /** Every serve of this host. */
  readonly serves: readonly Serve[];
  readonly memory: Memory;
  /** The driver of a serve, or why this host has none. */
  readonly driverOf: (serve: Serve) => Driver | Refusal<"supervisor_unsupported">;
  /** Every driver of this host, each once. */
  readonly drivers: readonly Driver[];
  readonly probe: Probe;
  readonly facts: Pick<OsFacts, "listeners">;
  /** What the host says of its memory, devices by their id in the topology. */
  readonly memoryFacts: (signal: AbortSignal) => Promise<MemoryFacts | Unknown>;
  readonly clock: Clock;
  readonly tryLock: TryLock;
  /** The lock that serialises starts. */
  readonly lockPath: string;
}

const LOCK_PAUSE_MS = 200;

/** What is decided before a start. */
export type UpPlan =
  | { readonly kind: "start"; readonly budget: Budget }
  | { readonly kind: "running"; readonly instance: Instance }
  | Exclude<UpEnd, { readonly kind: "up" | "died" | "unfit" }>;

/** The lifecycle of one host's serves. */
export class HostLifecycle implements Lifecycle {
  readonly #parts: LifecycleParts;

  constructor(parts: LifecycleParts) {
    this.#parts = parts;
  }

  /** Decides what `up` would do now; changes nothing. `stopping`: serves that are gone by then. */
  async planUp(
    serve: Serve,
    signal: AbortSignal,
    stopping: readonly string[] = [],
  ): Promise<UpPlan> {
    const driver = this.#parts.driverOf(serve);
    if ("code" in driver) return driver;
    const state = await driver.status(serve, signal);
    switch (state.kind) {
      case "unknown":
        return state;
      case "running":
        if (!stopping.includes(serve.name)) return { kind: "running", instance: state.instance };
        break;
      case "foreign":
        return refuse("serve_foreign", `${serve.name}: ${state.detail}`, "look at what runs there");
      case "stopping":
        return refuse(
          "serve_stopping",
          `${serve.name} was asked to end and is not gone yet`,
          "wait, or end it with force",
        );
      case "stopped":
    }
    // Of what runs, nothing more is needed: its image may even be gone by now.
    const resolved = await driver.resolve(serve, signal);
    if (resolved.kind !== "ready") return resolved;
    const down = await this.#dependencyDown(serve, stopping, signal);
    if (down !== null) return down;
    const isLeaving = (port: number) =>
      this.#parts.serves.some((one) => stopping.includes(one.name) && one.port === port);
    if (!isLeaving(serve.port)) {
      const port = await portNow(this.#parts.facts, serve.port, signal);
      if (port.kind === "unknown") return port;
      if (port.kind === "held") {
        const who = port.pids[0] === undefined ? "somebody" : `process ${port.pids[0]}`;
        const detail = `${serve.name}: ${who} listens on port ${serve.port} already`;
        return refuse("port_taken", detail, "end it, or give the serve another port");
      }
    }
    const decided = await this.budgetFor([serve.name], stopping, signal);
    if (decided.kind === "unknown" && "code" in decided) return decided;
    if (decided.kind === "over") {
      return refuse(
        "over_budget",
        `${serve.name} does not fit: ${explainBudget(decided)}`,
        "stop something first; `serves.list` shows what runs",
      );
    }
    if (decided.kind === "unknown") {
      return refuse(
        "memory_unknown",
        `whether ${serve.name} fits is not known: ${explainBudget(decided)}`,
        "see `node.facts` for why it was not measured",
      );
    }
    return { kind: "start", budget: decided };
  }

  /** The arithmetic for starting `start` once `stopping` are gone. */
  async budgetFor(
    start: readonly string[],
    stopping: readonly string[],
    signal: AbortSignal,
  ): Promise<Budget | Unknown> {
    const { serves, memory, drivers } = this.#parts;
    const occupants: Occupant[] = [];
    for (const driver of drivers) {
      const seen = await driver.occupants(serves, signal);
      if (seen.kind === "unknown") return seen;
      occupants.push(...seen.occupants);
    }
    const facts = await this.#parts.memoryFacts(signal);
    if ("kind" in facts) return facts;
    const claims = new Map(serves.map((one) => [one.name, claimOf(one)] as const));
    return budget({ memory, claims, start, stop: stopping, facts, occupants });
  }

  async up(serve: Serve, onProgress: OnProgress, signal: AbortSignal): Promise<UpEnd> {
    const tell = this.#teller(serve, onProgress);
    const lock = await this.#lock(serve, tell, signal);
    if (lock.kind === "refused") return lock;
    try {
      tell.step("resolving", "looking up what a start needs");
      const plan = await this.planUp(serve, signal);
      if (plan.kind === "running") {
        return await this.#watch(serve, plan.instance, true, tell, signal);
      }
      if (plan.kind !== "start") return plan;
      tell.step("starting", "the runtime is told to start it");
      const driver = this.#parts.driverOf(serve);
      if ("code" in driver) return driver;
      const started = await driver.start(serve, signal);
      switch (started.kind) {
        case "refused":
          return started;
        case "unknown": // it may run: what is there decides
          return await this.#watch(serve, null, false, tell, signal);
        case "died":
          return await died({ serve, driver, tell, signal }, started.exit);
        default: {
          const already = started.kind === "already";
          return await this.#watch(serve, started.instance, already, tell, signal);
        }
      }
    } finally {
      await lock.release();
    }
  }

  /** Proves that what runs under the name of `serve` is what its manifest declares; starts nothing. */
  async adopt(
    serve: Serve,
    onProgress: OnProgress,
    signal: AbortSignal,
  ): Promise<UpEnd | Refusal<"serve_not_running">> {
    const plan = await this.planUp(serve, signal);
    if (plan.kind === "start") {
      const detail = `nothing runs under the name of ${serve.name}`;
      return refuse("serve_not_running", detail, "start it with `serves.up`");
    }
    if (plan.kind !== "running") return plan;
    const tell = this.#teller(serve, onProgress);
    return await this.#watch(serve, plan.instance, true, tell, signal);
  }

  async down(
    serve: Serve,
    order: { readonly force: boolean },
    onProgress: OnProgress,
    signal: AbortSignal,
  ): Promise<DownEnd> {
    const tell = this.#teller(serve, onProgress);
    const driver = this.#parts.driverOf(serve);
    if ("code" in driver) return refuse("stop_refused", driver.detail);
    const dependents = await this.dependentsUp(serve, signal);
    if (dependents.length > 0) {
      const detail = `${dependents.join(", ")} ${dependents.length > 1 ? "need" : "needs"} ` +
        `${serve.name} and may run`;
      return refuse("dependents_up", detail, "take those down first");
    }
    tell.step("stopping", order.force ? "killed" : "asked to end");
    const stopped = await driver.stop(serve, order, signal);
    if (stopped.kind !== "stopped") return stopped;
    tell.step("gone", "no process of it is left and its port is free");
    return { kind: "down", was: stopped.was, proof: stopped.proof };
  }

  /** Names of serves that need `serve` and run, or may. */
  async dependentsUp(serve: Serve, signal: AbortSignal): Promise<readonly string[]> {
    const up: string[] = [];
    for (const one of this.#parts.serves) {
      if (!one.depends.includes(serve.name)) continue;
      const state = await this.status(one, signal);
      if (state.kind !== "stopped") up.push(one.name);
    }
    return up;
  }

  /** What runs under the name of `serve` now. */
  async status(serve: Serve, signal: AbortSignal): Promise<ServeState> {
    const driver = this.#parts.driverOf(serve);
    return "code" in driver
      ? { kind: "unknown", code: "runtime_unreachable", detail: driver.detail }
      : await driver.status(serve, signal);
  }

  async #dependencyDown(
    serve: Serve,
    stopping: readonly string[],
    signal: AbortSignal,
  ): Promise<Refusal<UpFault> | null> {
    for (const name of serve.depends) {
      const needed = this.#parts.serves.find((one) => one.name === name);
      const state = needed === undefined ? null : await this.status(needed, signal);
      if (state?.kind === "running" && !stopping.includes(name)) continue;
      return refuse(
        "dependency_down",
        `${serve.name} needs ${name}, which is ${state?.kind ?? "not declared"}`,
        `start ${name} first`,
      );
    }
    return null;
  }

  /** Waits for the start that runs on this host, if there is one. */
  async #lock(serve: Serve, tell: Teller, signal: AbortSignal) {
    const { tryLock, lockPath, clock } = this.#parts;
    const until = clock.monotonic() + serve.start_seconds * 1000;
    for (let told = false;;) {
      const lock = await tryLock(lockPath);
      if (lock.kind === "held") return lock;
      if (lock.kind === "refused") {
        return refuse(
          "lock_unavailable",
          "the lock of starts cannot be had",
          "see to the state folder",
        );
      }
      if (clock.monotonic() >= until) {
        return refuse("host_busy", "another start runs on this host", "wait for it, or cancel it");
      }
      if (!told) tell.step("waiting_for_host", "another start runs on this host");
      told = true;
      await clock.sleep(LOCK_PAUSE_MS, signal);
    }
  }

  async #watch(
    serve: Serve,
    seen: Instance | null,
    already: boolean,
    tell: Teller,
    signal: AbortSignal,
  ): Promise<UpEnd> {
    const driver = this.#parts.driverOf(serve);
    if ("code" in driver) return driver;
    const { clock, probe } = this.#parts;
    return await watch({ serve, driver, tell, signal, clock, probe }, seen, already);
  }

  #teller(serve: Serve, onProgress: OnProgress): Teller {
    return new Teller(serve, this.#parts.clock, onProgress);
  }
}
