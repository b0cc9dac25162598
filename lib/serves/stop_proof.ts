/**
 * The proof of a stop, the same for every runtime: once no process is left, the port is free and, on
 * unified memory, what it held came back.
 *
 * @module
 */

import type { Clock } from "../core/clock.ts";
import type { Stopped } from "./driver.ts";
import { memoryBack } from "./memory_proof.ts";
import type { OsFacts } from "./os_facts.ts";
import { portFreed } from "./port_proof.ts";

/** What was stopped, and what was known of it while it ran. */
export interface StoppedServe {
  readonly port: number;
  /** For people: what is proven already, as "the container is gone". */
  readonly gone: string;
  readonly wasRunning: boolean;
  /** Resident memory in MiB; null when not known. */
  readonly resident: number | null;
  /** Available memory in MiB while it ran; null where it is not weighed. */
  readonly before: number | null;
  /** When the stop was ordered, in monotonic milliseconds. */
  readonly began: number;
}

/** The port of a gone process is free at once; a container's proxy may take a moment. Milliseconds. */
const PORT_PATIENCE_MS = 3000;

/** Looks at port and memory, and says what that proves. */
export async function proveStopped(
  parts: { readonly facts: OsFacts; readonly clock: Clock },
  { port, gone, wasRunning, resident, before, began }: StoppedServe,
  signal: AbortSignal,
): Promise<Stopped> {
  const now = await portFreed(parts, port, PORT_PATIENCE_MS, signal);
  if (now.kind === "unknown") return now;
  if (now.kind === "held") {
    const detail = `${gone} and port ${port} is still taken`;
    const left = { pids: now.pids, portHeldBy: now.pids[0] ?? null, portFree: false };
    return { kind: "still_there", left, detail };
  }
  const back = await memoryBack(parts, resident, before, signal);
  if (back.kind === "missing") {
    const detail = `of ${resident} MiB it held, ${back.mib} came back`;
    return { kind: "still_there", left: { pids: [], portHeldBy: null, portFree: true }, detail };
  }
  return {
    kind: "stopped",
    was: wasRunning ? "running" : "stopped",
    proof: {
      processes: 0,
      portFree: true,
      returnedMib: back.mib,
      tookMs: Math.round(parts.clock.monotonic() - began),
    },
  };
}
