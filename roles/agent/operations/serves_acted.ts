/**
 * Starts and stops of a serve as runs of an operation: each step into the ledger, each end told.
 *
 * @module
 */

import { z } from "zod";
import { type Refusal, refuse } from "../../../lib/core/refusal.ts";
import {
  type Effect,
  jsonShape,
  type OperationContext,
  type Ran,
} from "../../../lib/operation/operation.ts";
import type { Unknown } from "../../../lib/serves/driver.ts";
import type { DownEnd, Progress, UpEnd } from "../../../lib/serves/lifecycle_outcome.ts";
import type { Serve } from "../../../lib/serves/manifest_shape.ts";
import type { ServesHost } from "../serves_host.ts";
import { instanceJson } from "./serves_shown.ts";

/** Lines of a serve that died which its refusal quotes; `serves.logs` has more. */
const QUOTED_LINES = 5;
const QUOTED_LINE = 200;

/** How a start or a stop came out. */
export const endedShape = z.strictObject({
  serve: z.string(),
  outcome: z.string(),
  observed: jsonShape,
});

type Ended = z.infer<typeof endedShape>;

/** Starts `serve`. */
export async function up(
  { lifecycle }: ServesHost,
  serve: Serve,
  context: OperationContext,
): Promise<Ran<Ended>> {
  return upEnded(serve, await lifecycle.up(serve, teller(context), context.signal));
}

/** Stops `serve`. */
export async function down(
  { lifecycle }: ServesHost,
  serve: Serve,
  force: boolean,
  context: OperationContext,
): Promise<Ran<Ended>> {
  const end: DownEnd = await lifecycle.down(serve, { force }, teller(context), context.signal);
  const { name } = serve;
  switch (end.kind) {
    case "down": {
      const observed = { was: end.was, ...end.proof };
      return { kind: "ok", value: { serve: name, outcome: "down", observed } };
    }
    case "still_there": {
      const { pids, portFree } = end.left;
      const left = `${pids.length} processes are left, the port is ${portFree ? "free" : "taken"}`;
      const detail = `${name}: ${end.detail}; ${left}`;
      return { kind: "failed", code: "serve_still_there", detail, effect: "unknown" };
    }
    case "refused":
      return end;
    case "unknown":
      return { ...unknown(end), kind: "failed", effect: "unknown" };
  }
}

/** The end of a start as the end of a run. */
export function upEnded(
  { name }: Serve,
  end: UpEnd | Refusal<"serve_not_running">,
): Ran<Ended> {
  const failed = (code: string, detail: string, effect: Effect) =>
    ({ kind: "failed", code, detail, effect }) as const;
  switch (end.kind) {
    case "up": {
      const observed = { ...instanceJson(end.instance), already: end.already, took_ms: end.tookMs };
      return { kind: "ok", value: { serve: name, outcome: "up", observed } };
    }
    case "died": {
      const how = end.exit?.code === undefined || end.exit.code === null
        ? end.exit?.signal ?? "in a way nobody tells"
        : `with code ${end.exit.code}`;
      const memory = end.exit?.outOfMemory === true ? ", out of memory" : "";
      return failed(
        "serve_died",
        `${name} ended ${how}${memory} after ${end.tookMs} ms${quoted(end.lines)}`,
        "applied",
      );
    }
    case "unfit": {
      const { code, expected, observed } = end;
      const detail = `${name} runs, expected ${expected}, observed ${observed}${quoted(end.lines)}`;
      return failed(code, detail, "applied");
    }
    case "refused":
      return end;
    case "unknown":
      return { ...unknown(end), kind: "failed", effect: "unknown" };
  }
}

function quoted(lines: readonly string[]): string {
  const last = lines.slice(-QUOTED_LINES).map((line) => line.slice(0, QUOTED_LINE));
  return last.length === 0 ? "; it wrote nothing" : `; its last lines: ${last.join(" | ")}`;
}

/** What the world is known to be at each step of a start or a stop. */
const EFFECTS: { readonly [step in Progress["step"]]: Effect } = {
  resolving: "none",
  waiting_for_host: "none",
  starting: "unknown",
  loading: "applied",
  healthy: "applied",
  proven: "applied",
  stopping: "unknown",
  gone: "applied",
};

/** Writes progress into the ledger, where `operations.get` shows it. */
export function teller({ step }: OperationContext) {
  let before: string | null = null;
  return (progress: Progress) => {
    if (progress.step === before) return; // one row per step, not one per look
    before = progress.step;
    step(`${progress.serve}: ${progress.step}`, EFFECTS[progress.step]);
  };
}

/** The runtime did not say. */
export function unknown({ code, detail }: Unknown): Refusal {
  return refuse(code, detail, "see whether the runtime on this host works, then ask again");
}
