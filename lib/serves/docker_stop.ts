/**
 * Ends a container and proves it.
 *
 *     signal it ─> wait its grace ─> not running ─> port free ─> memory back ─> stopped
 *                              └─> still running: said so, nothing is killed
 *
 * The engine's own stop kills when its time is over; this asks with the container's stop signal and
 * looks. When its first process ends, the kernel ends all others of the container.
 *
 * @module
 */

import type { Clock } from "../core/clock.ts";
import { refuse } from "../core/refusal.ts";
import type { ContainerFact } from "./container_facts.ts";
import type { Found } from "./docker_driver.ts";
import type { DockerEngine } from "./docker_engine.ts";
import { pidsOf, residentOf } from "./docker_memory.ts";
import type { StopOrder, Stopped } from "./driver.ts";
import type { DockerServe } from "./manifest_shape.ts";
import type { OsFacts } from "./os_facts.ts";
import { proveStopped } from "./stop_proof.ts";

interface StopParts {
  readonly engine: DockerEngine;
  readonly facts: OsFacts;
  readonly clock: Clock;
  readonly unified: boolean;
}

/** After a kill, in milliseconds. */
const KILL_PATIENCE_MS = 10_000;
const PAUSE_MS = 100;

/** Stops `container`, the one of `serve`; null: there is none. */
export async function stopContainer(
  parts: StopParts,
  serve: DockerServe,
  container: ContainerFact | null,
  { force }: StopOrder,
  find: (signal: AbortSignal) => Promise<Found>,
  signal: AbortSignal,
): Promise<Stopped> {
  const { engine, facts, clock, unified } = parts;
  const began = clock.monotonic();
  let before: number | null = null;
  let resident: number | null = null;
  const wasRunning = container?.running === true;
  if (wasRunning) {
    if (unified) {
      resident = await residentOf(engine, container.id, signal);
      const available = await facts.available(signal);
      before = available.kind === "seen" ? available.value : null;
    }
    const word = force ? "SIGKILL" : container.stopSignal;
    const path = `/containers/${container.id}/kill?signal=${encodeURIComponent(word)}`;
    const asked = await engine.json(path, signal, { method: "POST" });
    if (asked.kind === "unknown") return asked;
    // 404 and 409: it ended by itself meanwhile.
    if (![204, 404, 409].includes(asked.status)) {
      return refuse("stop_refused", `the engine refused with status ${asked.status}`);
    }
    const patience = force ? KILL_PATIENCE_MS : serve.stop_grace_seconds * 1000;
    const now = await ended(parts, container, began + patience, find, signal);
    if (now.kind === "unknown") return now;
    if (now.kind === "found") {
      const pids = await pidsOf(engine, container.id, signal);
      const left = pids.kind === "seen" ? pids.value : [];
      return {
        kind: "still_there",
        left: { pids: left, portHeldBy: left[0] ?? null, portFree: false },
        detail: force
          ? "the container survives SIGKILL: look at the engine and the kernel's log"
          : `it did not end within its grace of ${serve.stop_grace_seconds} seconds`,
      };
    }
  }
  const gone = "the container is gone";
  const stopped = { port: serve.port, gone, wasRunning, resident, before, began };
  return await proveStopped(parts, stopped, signal);
}

/** Looks until this life of the container is over. An engine that is silent is asked again. */
async function ended(
  { clock }: StopParts,
  container: ContainerFact,
  until: number,
  find: (signal: AbortSignal) => Promise<Found>,
  signal: AbortSignal,
): Promise<Found> {
  for (;;) {
    const found = await find(signal);
    const isOver = found.kind === "none" || (found.kind === "found" &&
      (!found.container.running || found.container.id !== container.id ||
        found.container.startedAt !== container.startedAt));
    if (isOver) return { kind: "none" };
    if (clock.monotonic() >= until) return found;
    await clock.sleep(PAUSE_MS, signal);
  }
}
