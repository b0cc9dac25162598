/**
 * What the machines act through. Each port says what was observed and whether anything may have been
 * changed; none of them decides what happens next.
 *
 * @module
 */

import type { Problem } from "../../core/problem.ts";
import type { Refusal } from "../../core/refusal.ts";
import type { ServeState } from "../driver.ts";

/** What the router says of one tier. */
export interface TierReport {
  readonly tier: string;
  readonly intent: "admit" | "quiesce";
  readonly readiness: "ready" | "not_ready";
  readonly inFlight: number;
}

/** What the router says of itself. */
export interface RouterReport {
  readonly kind: "report";
  /** SHA-256 of the configuration that runs, lower-case hex. */
  readonly digest: string;
  readonly draining: boolean;
  readonly tiers: readonly TierReport[];
  readonly aliases: Readonly<Record<string, string>>;
}

/** One transition, as `POST /v1/admin/transition` takes it. */
export interface TransitionAsk {
  readonly tier: string;
  readonly action: "quiesce" | "drain" | "readmit";
  /** How long a drain waits. */
  readonly seconds?: number;
  readonly dryRun?: boolean;
}

/** What was observed at the end of one. */
export interface Observed extends TierReport {
  readonly kind: "observed";
  readonly drained: boolean;
  /** Whether the intent outlives the router's process. */
  readonly persisted: boolean;
}

/** No answer, or not the one that was hoped for. */
export interface RouterRefusal extends
  Refusal<
    | "router_unreachable" // nobody answered
    | "router_refused" // an answer that is no answer: credentials, version, form
    | "router_token_unusable" // we have nothing to show
    | "tier_unknown"
    | "drain_timeout"
    | "readmit_refused"
    | "intent_not_kept"
    | "router_draining"
  > {
  /** False only when it is certain that the router changed nothing. */
  readonly changed: boolean;
}

/** The admin listener of this host's router. */
export interface RouterAdmin {
  status(signal: AbortSignal): Promise<RouterReport | RouterRefusal>;
  transition(ask: TransitionAsk, signal: AbortSignal): Promise<Observed | RouterRefusal>;
}

/** What the installed router thinks of a configuration. */
export type Judged =
  | { readonly kind: "valid"; readonly digest: string }
  | (Refusal<"config_invalid" | "router_program_unusable" | "router_candidate_unwritable"> & {
    readonly problems: readonly Problem[];
  });

/** The installed router, as a program and as something the supervisor runs. */
export interface RouterProgram {
  /** Judges a text as if it stood where the configuration stands; changes nothing. */
  check(text: string, signal: AbortSignal): Promise<Judged>;
  /** Has the supervisor stop it, in-flight requests drained, and start it again. */
  restart(signal: AbortSignal): Promise<{ readonly kind: "restarted" } | RestartRefusal>;
}

/** The supervisor did not restart it. */
export interface RestartRefusal extends Refusal<"router_not_restarted"> {
  /** For the log. */
  readonly cause: string;
}

/** What a change of one serve gave. */
export type Handled =
  /** `observed` is for people: what was seen that proves it. */
  | { readonly kind: "ok"; readonly observed: string }
  | (Refusal & { readonly changed: boolean });

/** The serves of this host by name. Each answer is proven, not hoped for. */
export interface ServeHands {
  state(serve: string, signal: AbortSignal): Promise<ServeState>;
  /** Whether everything a start needs is there: image, unit, program. Changes nothing. */
  resolve(serve: string, signal: AbortSignal): Promise<Refusal | null>;
  /** Whether `start` fit once `stop` are gone, beside all that runs. A name may be in both. */
  fits(
    start: readonly string[],
    stop: readonly string[],
    signal: AbortSignal,
  ): Promise<Refusal | null>;
  /** Starts it and waits until it is healthy and proven, or dead. Fine when it runs already. */
  up(serve: string, signal: AbortSignal): Promise<Handled>;
  /** Stops it and proves that it is gone. Fine when nothing runs. */
  down(serve: string, signal: AbortSignal): Promise<Handled>;
  /** Proves which process owns the port and which model it serves. */
  prove(serve: string, signal: AbortSignal): Promise<Handled>;
}

/** The configuration of the router on this host's disk, and the copies of one transaction. */
export interface ConfigFiles {
  /** What stands there now. */
  live(): Promise<ConfigText | Refusal>;
  /** Replaces it, in one step that is on the disk afterwards. */
  write(text: string): Promise<Refusal | null>;
  /** The copy of this transaction; null when there is none. */
  kept(which: "old" | "new"): Promise<ConfigText | null | Refusal>;
  keep(which: "old", text: string): Promise<Refusal | null>;
}

/** A configuration and its name. */
export interface ConfigText {
  readonly kind: "config";
  readonly text: string;
  /** SHA-256 of its bytes, lower-case hex. */
  readonly digest: string;
}
