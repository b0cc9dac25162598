/**
 * Watching a serve from its start until it is up, unfit, gone, or out of time: never a blind wait.
 *
 * @module
 */

import type { Clock } from "../core/clock.ts";
import { refuse } from "../core/refusal.ts";
import type { Driver, Exit, Instance, ServeState } from "./driver.ts";
import type { OnProgress, Progress, UpEnd } from "./lifecycle_outcome.ts";
import type { Serve } from "./manifest_shape.ts";
import type { Probe } from "./probe.ts";

/** How often it is looked, in milliseconds. */
const LOOK_MS = 200;
/** Lines that are shown of a serve that died. */
const LAST_LINES = { lines: 40, bytes: 16 * 1024 } as const;

/** Tells of progress, with the time since the order. */
export class Teller {
  readonly #serve: Serve;
  readonly #clock: Clock;
  readonly #onProgress: OnProgress;
  readonly #began: number;

  constructor(serve: Serve, clock: Clock, onProgress: OnProgress) {
    this.#serve = serve;
    this.#clock = clock;
    this.#onProgress = onProgress;
    this.#began = clock.monotonic();
  }

  step(step: Progress["step"], observed: string): void {
    this.#onProgress({ serve: this.#serve.name, step, observed, afterMs: this.afterMs() });
  }

  afterMs(): number {
    return Math.round(this.#clock.monotonic() - this.#began);
  }
}

/** What a watch looks at. */
export interface WatchParts {
  readonly serve: Serve;
  readonly driver: Driver;
  readonly tell: Teller;
  readonly signal: AbortSignal;
  readonly clock: Clock;
  readonly probe: Probe;
}

/** `seen`: the life that was started; null: whether one was is not known. */
export async function watch(
  parts: WatchParts,
  seen: Instance | null,
  already: boolean,
): Promise<UpEnd> {
  const { serve, driver, clock, signal, tell } = parts;
  const until = clock.monotonic() + serve.start_seconds * 1000;
  let life = seen;
  let observed = "nothing yet";
  for (;;) {
    const state = await driver.status(serve, signal);
    const isLate = clock.monotonic() >= until;
    if (state.kind === "running") {
      // Its supervisor started it again: the life we watched is over.
      if (life !== null && life.id !== state.instance.id) return await died(parts, null);
      life = state.instance;
      const looked = await look(parts, life, already, isLate);
      if (looked.kind !== "not_yet") return looked;
      if (looked.observed !== observed) tell.step("loading", looked.observed);
      observed = looked.observed;
    } else {
      const end = await notRunning(parts, state, life, isLate);
      if (end !== null) return end;
    }
    if (isLate && life !== null) {
      const expected = `health within ${serve.start_seconds} seconds`;
      return await unfit(parts, "serve_never_healthy", expected, observed, life);
    }
    await clock.sleep(LOOK_MS, signal);
  }
}

/** What a state other than running means; null: look again. */
async function notRunning(
  parts: WatchParts,
  state: Exclude<ServeState, { readonly kind: "running" }>,
  life: Instance | null,
  isLate: boolean,
): Promise<UpEnd | null> {
  switch (state.kind) {
    case "unknown":
      return isLate ? state : null;
    case "foreign": {
      const detail = `${parts.serve.name}: ${state.detail}`;
      return refuse("serve_foreign", detail, "look at what runs there");
    }
    default: {
      // Of an order whose end was not heard, "not there" may only mean "not yet".
      const exit = state.kind === "stopped" ? state.exit : null;
      return life !== null || isLate ? await died(parts, exit) : null;
    }
  }
}

/** Asks the engine, then for the proof of its process. */
async function look(
  parts: WatchParts,
  life: Instance,
  already: boolean,
  isLate: boolean,
): Promise<UpEnd | { readonly kind: "not_yet"; readonly observed: string }> {
  const { serve, driver, probe, signal, tell } = parts;
  const found = await probe(serve, signal);
  if (found.kind === "mismatch") {
    return await unfit(parts, "identity_mismatch", found.expected, found.observed, life);
  }
  if (found.kind !== "ready") {
    const isUnreadable = found.kind === "unparseable" && isLate;
    return isUnreadable
      ? await unfit(parts, "identity_unparseable", "the name of a model", found.observed, life)
      : { kind: "not_yet", observed: found.observed };
  }
  tell.step("healthy", "it is healthy and serves the declared model");
  const proof = await driver.identity(serve, signal);
  switch (proof.kind) {
    case "proven":
      tell.step("proven", "its process owns the port");
      return { kind: "up", instance: proof.instance, already, tookMs: tell.afterMs() };
    case "differs":
      return await unfit(parts, "identity_mismatch", proof.expected, proof.observed, life);
    case "absent":
      return { kind: "not_yet", observed: "nobody of it owns the port" };
    case "unknown":
      // The engine has proven its model; only the kind `agent` rests on the process alone.
      if (serve.identity.kind === "agent") return { kind: "not_yet", observed: proof.detail };
      tell.step("proven", proof.detail);
      return { kind: "up", instance: life, already, tookMs: tell.afterMs() };
  }
}

/** It ended by itself: with its last lines. */
export async function died(
  { serve, driver, tell, signal }: Pick<WatchParts, "serve" | "driver" | "tell" | "signal">,
  exit: Exit | null,
): Promise<UpEnd> {
  const lines = await lastLinesOf(serve, driver, signal);
  const code = exit?.code ?? null;
  tell.step("gone", code === null ? "it ended" : `it exited with ${code}`);
  return { kind: "died", exit, lines, tookMs: tell.afterMs() };
}

async function unfit(
  { serve, driver, signal }: WatchParts,
  code: Extract<UpEnd, { kind: "unfit" }>["code"],
  expected: string,
  observed: string,
  instance: Instance,
): Promise<UpEnd> {
  const lines = await lastLinesOf(serve, driver, signal);
  return { kind: "unfit", code, expected, observed, instance, lines };
}

async function lastLinesOf(
  serve: Serve,
  driver: Driver,
  signal: AbortSignal,
): Promise<readonly string[]> {
  const logs = await driver.logs(serve, LAST_LINES, signal);
  return logs.kind === "logs" ? logs.lines : [`(its log cannot be read: ${logs.detail})`];
}
