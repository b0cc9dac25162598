/**
 * The driver port: one way to start, stop and prove a serve, whatever runs it.
 *
 * Every implementation passes `lib/testing/driver_conformance.ts`. What they promise:
 * - nothing is recorded: every answer is read from the runtime at the moment of the question;
 * - `unknown` is said when the runtime does not answer, never "stopped";
 * - `start` of what runs already, and `stop` of what does not, change nothing and say so;
 * - an instance is told apart from a later one in its place: a pid alone names nobody;
 * - `stop` asks, waits the grace, and proves; only `force` kills;
 * - `start` answers when the runtime has taken it, not when the model is loaded: see `lifecycle.ts`.
 *
 * @module
 */

import type { Refusal } from "../core/refusal.ts";
import type { Serve } from "./manifest_shape.ts";

/** Which implementation answers. */
export const DRIVER_KINDS = [
  "docker",
  "systemd-user",
  "systemd-system",
  "launchd",
  "windows-task",
  "simulated",
] as const;
/** One of {@link DRIVER_KINDS}. */
export type DriverKind = (typeof DRIVER_KINDS)[number];

/** One life of a serve. */
export interface Instance {
  /** Names this life and no other: a container id and its start, or a pid and its start. */
  readonly id: string;
  /** Of its first process on the host; null where the runtime does not tell. */
  readonly pid: number | null;
  /** When it began, in milliseconds since the epoch; null where the runtime does not tell. */
  readonly startedAt: number | null;
  /** Resident memory of all its processes in MiB; null: not known, and counted as its whole claim. */
  readonly residentMib: number | null;
  /** Program and arguments of its first process joined by blanks, as `ps` shows them; null: not told. */
  readonly commandLine: string | null;
  /** `sha256:…` of the image; null without one. */
  readonly imageDigest: string | null;
}

/** How the last life ended, as far as the runtime remembers. */
export interface Exit {
  readonly code: number | null;
  readonly signal: string | null;
  /** Milliseconds since the epoch. */
  readonly at: number | null;
  readonly outOfMemory: boolean;
}

/** The runtime could not be asked, or its answer is not understood. */
export interface Unknown {
  readonly kind: "unknown";
  readonly code: "runtime_unreachable" | "runtime_silent" | "runtime_not_understood";
  /** What was observed. */
  readonly detail: string;
  /** For the log. */
  readonly cause?: string;
}

/** What runs under the name of a serve right now. */
export type ServeState =
  | { readonly kind: "running"; readonly instance: Instance }
  /** Asked to end and not gone yet. */
  | { readonly kind: "stopping"; readonly instance: Instance }
  /** Nothing runs. */
  | { readonly kind: "stopped"; readonly exit: Exit | null }
  /** Something else has its name: another image, another program, no label of ours. */
  | { readonly kind: "foreign"; readonly detail: string; readonly instance: Instance | null }
  | Unknown;

/** Why a serve cannot be started as it is declared; found before anything is changed. */
export type ResolveFault =
  | "image_absent"
  | "container_absent" // compose has not made it
  | "container_foreign" // the name is taken by what is not ours
  | "network_absent"
  | "program_absent"
  | "path_absent" // a mount or a working directory
  | "unit_absent"
  | "unit_differs" // the supervisor would start something else
  | "env_file_unusable"
  | "supervisor_unsupported";

/** Whether everything a start needs is there. */
export type Resolved = { readonly kind: "ready" } | Refusal<ResolveFault> | Unknown;

/** What a start did. */
export type Started =
  | { readonly kind: "started"; readonly instance: Instance }
  | { readonly kind: "already"; readonly instance: Instance }
  /** It was taken and was gone before it could be seen. */
  | { readonly kind: "died"; readonly exit: Exit | null }
  /** Nothing was started. */
  | Refusal<ResolveFault | "start_refused">
  /** It may have been started: ask `status`. */
  | Unknown;

/** How a stop goes about it. */
export interface StopOrder {
  /** Kill at once instead of asking. */
  readonly force: boolean;
}

/** What a stop did. `stopped` is proven: no process is left, nobody of it holds the port. */
export type Stopped =
  | { readonly kind: "stopped"; readonly was: "running" | "stopped"; readonly proof: StopProof }
  /** It had its grace and is still there, or something of it is. */
  | { readonly kind: "still_there"; readonly left: Leftover; readonly detail: string }
  /** Nothing was done. */
  | Refusal<"serve_foreign" | "stop_refused">
  /** It may have been stopped: ask `status`. */
  | Unknown;

/** What was looked at after the end. */
export interface StopProof {
  /** Processes of the serve that were left: none. */
  readonly processes: 0;
  readonly portFree: true;
  /** Unified memory that came back in MiB; null on discrete memory. */
  readonly returnedMib: number | null;
  /** Milliseconds from the order to the proof. */
  readonly tookMs: number;
}

/** What is left of a serve that should be gone. */
export interface Leftover {
  readonly pids: readonly number[];
  /** Who holds the port; null: nobody, or the operating system does not tell who. */
  readonly portHeldBy: number | null;
  readonly portFree: boolean;
}

/** Lines of a serve, oldest first. */
export type Logs =
  | {
    readonly kind: "logs";
    readonly lines: readonly string[];
    /** True when there were more than the bounds let through. */
    readonly truncated: boolean;
  }
  | Unknown;

/** How much of a log is wanted. */
export interface LogBounds {
  readonly lines: number;
  readonly bytes: number;
}

/** Which process owns the port, and whether that is the declared one. */
export type Proof =
  | { readonly kind: "proven"; readonly instance: Instance; readonly port: number }
  | { readonly kind: "differs"; readonly expected: string; readonly observed: string }
  /** Nobody listens there. */
  | { readonly kind: "absent" }
  | Unknown;

/** Memory somebody holds on this host, ours or not. */
export interface Occupant {
  /** The serve it is, when it is one of the manifest. */
  readonly serve: string | null;
  /** For people: a container's or program's name. */
  readonly label: string;
  /** Device ids of the topology it can use; empty: all there are. */
  readonly devices: readonly string[];
  /** Its processes on the host, by which device memory is told to be its; empty: not known. */
  readonly pids: readonly number[];
  /** Main memory in MiB, that of a unified host; null: not known. */
  readonly mib: number | null;
}

/** Who holds memory besides what is declared. */
export type Occupancy =
  | { readonly kind: "seen"; readonly occupants: readonly Occupant[] }
  | Unknown;

/** One runtime on this host. */
export interface Driver {
  readonly kind: DriverKind;
  /** Looks up everything a start needs; changes nothing. */
  resolve(serve: Serve, signal: AbortSignal): Promise<Resolved>;
  start(serve: Serve, signal: AbortSignal): Promise<Started>;
  stop(serve: Serve, order: StopOrder, signal: AbortSignal): Promise<Stopped>;
  status(serve: Serve, signal: AbortSignal): Promise<ServeState>;
  logs(serve: Serve, bounds: LogBounds, signal: AbortSignal): Promise<Logs>;
  identity(serve: Serve, signal: AbortSignal): Promise<Proof>;
  /** What this runtime runs besides: `serves` are those that are ours. */
  occupants(serves: readonly Serve[], signal: AbortSignal): Promise<Occupancy>;
}

/** The driver a serve needs. */
export function driverOf(serve: Serve): Exclude<DriverKind, "simulated"> {
  return serve.runtime === "docker" ? "docker" : serve.supervisor;
}
