/**
 * What the operating system says of processes, ports and memory, through its own programs. Read when
 * it is asked for; kept nowhere.
 *
 * @module
 */

import type { RunProcess } from "../core/process.ts";
import type { DeviceUse } from "./budget.ts";
import type { Unknown } from "./driver.ts";

/** One process. Another one with its pid has another start. */
export interface ProcessFact {
  readonly pid: number;
  readonly parent: number;
  /** Process group; 0 where there are none. */
  readonly group: number;
  /** Milliseconds since the epoch, to the second. */
  readonly startedAt: number;
  readonly residentMib: number;
  /** A process that ended and was not waited for holds nothing. */
  readonly isZombie: boolean;
  /** What its supervisor knows it by: the control group on Linux, empty elsewhere. */
  readonly scope: string;
  /** Program and arguments joined by blanks. */
  readonly commandLine: string;
}

/** Somebody who listens. */
export interface ListenerFact {
  readonly port: number;
  /** Null: the system does not tell us who it is. */
  readonly pid: number | null;
}

/** What was seen, or why not. */
export type Seen<Value> = { readonly kind: "seen"; readonly value: Value } | Unknown;

/** What is at a path; `program`: a file that somebody may execute. */
export type PathKind = "program" | "file" | "directory" | "other" | "absent";

/** The facts a driver derives from. */
export interface OsFacts {
  processes(signal: AbortSignal): Promise<Seen<readonly ProcessFact[]>>;
  listeners(signal: AbortSignal): Promise<Seen<readonly ListenerFact[]>>;
  /** MiB of main memory that can be had without swapping. */
  available(signal: AbortSignal): Promise<Seen<number>>;
  /** What each path leads to, links followed. */
  paths(
    paths: readonly string[],
    signal: AbortSignal,
  ): Promise<Seen<ReadonlyMap<string, PathKind>>>;
  /** By the vendor's identity of a device; one without a program that tells is not in it. */
  devices(signal: AbortSignal): Promise<Seen<ReadonlyMap<string, DeviceUse>>>;
}

/** Where the programs are looked for; nothing of our own environment is passed on. */
export const FACT_ENV = {
  PATH: "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin:/run/current-system/sw/bin",
  LC_ALL: "C",
  TZ: "UTC",
} as const;

const DEADLINE_MS = 5000;
const MOST_OUTPUT = 8 * 1024 * 1024;

/** How a program that tells facts ended. */
export type Told =
  | { readonly kind: "told"; readonly code: number; readonly text: string; readonly error: string }
  | Unknown;

/** Runs a program that tells facts; `env` besides what all of them get. */
export async function tell(
  run: RunProcess,
  argv: readonly [string, ...string[]],
  signal: AbortSignal,
  { env = {}, deadlineMs = DEADLINE_MS }: {
    readonly env?: Readonly<Record<string, string>>;
    readonly deadlineMs?: number;
  } = {},
): Promise<Told> {
  const [program] = argv;
  const ended = await run({
    argv,
    env: { ...FACT_ENV, ...env },
    deadlineMs,
    maxOutputBytes: MOST_OUTPUT,
    signal,
  });
  const decoder = new TextDecoder();
  switch (ended.kind) {
    case "exited": {
      const text = decoder.decode(ended.stdout);
      return { kind: "told", code: ended.code, text, error: decoder.decode(ended.stderr) };
    }
    case "failed_to_start": {
      const unknown = { kind: "unknown", code: "runtime_unreachable" } as const;
      return { ...unknown, detail: `${program} cannot be run`, cause: ended.cause };
    }
    case "timed_out":
    case "aborted":
      return {
        kind: "unknown",
        code: "runtime_silent",
        detail: `${program} did not answer in time`,
      };
    default:
      return notUnderstood(`${program} ended in an unexpected way: ${ended.kind}`);
  }
}

/** An answer that nobody can read. */
export function notUnderstood(detail: string): Unknown {
  return { kind: "unknown", code: "runtime_not_understood", detail };
}

/** Reads the output of a program that exits with 0; null from `read`: not understood. */
export async function seen<Value>(
  told: Promise<Told>,
  program: string,
  read: (text: string) => Value | null,
): Promise<Seen<Value>> {
  const answer = await told;
  if (answer.kind === "unknown") return answer;
  if (answer.code !== 0) return notUnderstood(`${program} exited with ${answer.code}`);
  const value = read(answer.text);
  return value === null
    ? notUnderstood(`the output of ${program} is not understood`)
    : { kind: "seen", value };
}
