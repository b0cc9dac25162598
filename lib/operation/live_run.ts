/**
 * A run that is worked on now: how to stop it, and how to wait for its end.
 *
 * @module
 */

import type { Clock } from "../core/clock.ts";
import type { Refusal } from "../core/refusal.ts";
import type { Answer } from "./answer.ts";
import type { Failed, Ran } from "./operation.ts";

/** Why an operation is stopped before its end. */
const STOPS = {
  operation_timed_out: "it took longer than it may",
  operation_cancelled: "somebody cancelled it",
  agent_stopping: "the agent stopped before it ended",
  caller_left: "the caller left",
} as const;

/** One of them. */
export type Stop = keyof typeof STOPS;

/** True of a reason that this room gave. */
export function isStop(reason: unknown): reason is Stop {
  return typeof reason === "string" && Object.hasOwn(STOPS, reason);
}

/** How what was stopped is told. */
export function stopEnd(stop: Stop): { readonly code: string; readonly detail: string } {
  const code = stop === "agent_stopping" ? "operation_interrupted" : stop;
  return { code, detail: STOPS[stop] };
}

/** One live run. */
export class LiveRun {
  readonly controller = new AbortController();
  /** Resolves with the answer once it is in the ledger. */
  readonly settled: Promise<Answer>;
  readonly #finished = Promise.withResolvers<Answer>();

  constructor() {
    this.settled = this.#finished.promise;
  }

  stop(stop: Stop): void {
    this.controller.abort(stop);
  }

  finish(answer: Answer): void {
    this.#finished.resolve(answer);
  }
}

/** How work under a deadline ended. */
export type Bounded<Value> =
  | { readonly kind: "ok"; readonly value: Value }
  | Refusal
  | Failed
  | { readonly kind: "stopped"; readonly stop: Stop }
  | { readonly kind: "threw"; readonly error: unknown };

/** Waits for `work` until its deadline or a stop; then a little, for it to notice; then no more. */
export async function bounded<Value>(
  work: Promise<Ran<Value>>,
  controller: AbortController,
  times: { readonly clock: Clock; readonly deadlineMs: number; readonly graceMs: number },
): Promise<Bounded<Value>> {
  const { clock, deadlineMs, graceMs } = times;
  const over = new AbortController();
  const ended: Promise<Bounded<Value>> = work.then(
    (ran) => ran,
    (error: unknown) => ({ kind: "threw", error }),
  );
  void clock.sleep(deadlineMs, over.signal).then(
    () => controller.abort("operation_timed_out" satisfies Stop),
    () => {},
  );
  const stopped = Promise.withResolvers<null>();
  const onStop = () => {
    void clock.sleep(graceMs, over.signal).catch(() => {}).then(() => stopped.resolve(null));
  };
  controller.signal.addEventListener("abort", onStop, { once: true });
  if (controller.signal.aborted) onStop();
  const first = await Promise.race([ended, stopped.promise]);
  over.abort();
  const reason: unknown = controller.signal.reason;
  if (controller.signal.aborted && isStop(reason) && (first === null || first.kind === "threw")) {
    return { kind: "stopped", stop: reason };
  }
  return first ?? { kind: "threw", error: new Error("stopped without a reason") };
}
