/**
 * How bringing a serve up, or down, ends; and what is told meanwhile.
 *
 * @module
 */

import type { Refusal } from "../core/refusal.ts";
import type { Exit, Instance, Leftover, ResolveFault, StopProof, Unknown } from "./driver.ts";
import type { Serve } from "./manifest_shape.ts";

/** How an `up` ended. Only `up` says that health and identity passed. */
export type UpEnd =
  | {
    readonly kind: "up";
    readonly instance: Instance;
    /** True when it ran before we came. */
    readonly already: boolean;
    readonly tookMs: number;
  }
  /** It was started and ended by itself. */
  | {
    readonly kind: "died";
    readonly exit: Exit | null;
    readonly lines: readonly string[];
    readonly tookMs: number;
  }
  /** It runs and is not what is declared, or not healthy in its time. It is left running. */
  | {
    readonly kind: "unfit";
    readonly code: "serve_never_healthy" | "identity_mismatch" | "identity_unparseable";
    readonly expected: string;
    readonly observed: string;
    readonly instance: Instance;
    readonly lines: readonly string[];
  }
  /** Nothing was started. */
  | Refusal<ResolveFault | UpFault>
  | Unknown;

/** Why nothing was started, besides what a driver finds missing. */
export type UpFault =
  | "over_budget"
  | "memory_unknown"
  | "host_busy" // another start runs on this host
  | "dependency_down"
  | "serve_foreign"
  | "serve_stopping"
  | "port_taken"
  | "start_refused"
  | "lock_unavailable"
  | "supervisor_unsupported";

/** How a `down` ended. */
export type DownEnd =
  | {
    readonly kind: "down";
    readonly was: "running" | "stopped";
    readonly proof: StopProof;
  }
  | { readonly kind: "still_there"; readonly left: Leftover; readonly detail: string }
  | Refusal<"serve_foreign" | "stop_refused" | "host_busy" | "lock_unavailable" | "dependents_up">
  | Unknown;

/** Something that happened on the way. */
export interface Progress {
  readonly serve: string;
  readonly step:
    | "resolving"
    | "waiting_for_host"
    | "starting"
    | "loading"
    | "healthy"
    | "proven"
    | "stopping"
    | "gone";
  /** What was observed. */
  readonly observed: string;
  /** Milliseconds since the order. */
  readonly afterMs: number;
}

/** Hears of progress; may do nothing. */
export type OnProgress = (progress: Progress) => void;

/** What the machines of mode and promotion pay their effects with. */
export interface Lifecycle {
  /** Resolves, reserves, starts, and waits for health and identity or for the end of the process. */
  up(serve: Serve, onProgress: OnProgress, signal: AbortSignal): Promise<UpEnd>;
  /** Stops and proves. */
  down(
    serve: Serve,
    order: { readonly force: boolean },
    onProgress: OnProgress,
    signal: AbortSignal,
  ): Promise<DownEnd>;
}
