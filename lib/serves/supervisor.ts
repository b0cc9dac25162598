/**
 * The supervisor port: what systemd, launchd or the task scheduler knows and does. Processes, ports
 * and memory are the operating system's to tell: see `native_driver.ts`.
 *
 * @module
 */

import type { Refusal } from "../core/refusal.ts";
import type { Exit, LogBounds, Logs, Unknown } from "./driver.ts";
import type { NativeServe, Supervisor } from "./manifest_shape.ts";
import type { ProcessFact, Seen } from "./os_facts.ts";

/** What the supervisor says of a unit. */
export interface UnitFact {
  readonly loaded: boolean;
  /** What it would start, against the manifest: one sentence each; empty: it is the same. */
  readonly differences: readonly string[];
  readonly activity: "running" | "stopping" | "stopped";
  readonly mainPid: number | null;
  /** Names one life of the unit, where the supervisor has a name for it. */
  readonly life: string | null;
  readonly exit: Exit | null;
}

/** What an order gave. */
export type Ordered = { readonly kind: "taken" } | Refusal<"order_refused"> | Unknown;

/** One supervisor. */
export interface SupervisorPort {
  readonly kind: Supervisor;
  look(serve: NativeServe, signal: AbortSignal): Promise<Seen<UnitFact>>;
  start(serve: NativeServe, signal: AbortSignal): Promise<Ordered>;
  /** Asks it to end and does not wait; refused where the system can only kill. */
  ask(serve: NativeServe, signal: AbortSignal): Promise<Ordered>;
  /** Kills everything of it. */
  kill(serve: NativeServe, signal: AbortSignal): Promise<Ordered>;
  logs(serve: NativeServe, bounds: LogBounds, signal: AbortSignal): Promise<Logs>;
  /** Processes of the unit in `table`, also those that outlived its main one. */
  members(
    serve: NativeServe,
    mainPid: number | null,
    table: readonly ProcessFact[],
  ): readonly ProcessFact[];
}

/** `root` and everything that came from it, as far as its parents still live. */
export function familyOf(root: number, table: readonly ProcessFact[]): readonly ProcessFact[] {
  const pids = new Set([root]);
  for (let grew = true; grew;) {
    grew = false;
    for (const { pid, parent, group } of table) {
      if (!pids.has(pid) && (pids.has(parent) || group === root)) {
        pids.add(pid);
        grew = true;
      }
    }
  }
  return table.filter(({ pid, isZombie }) => pids.has(pid) && !isZombie);
}
