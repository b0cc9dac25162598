/**
 * The process port: run one program to its end, without a shell, under a deadline.
 *
 * Every implementation passes `lib/testing/process_conformance.ts`. What they promise:
 * - the child sees exactly `env`, nothing inherited;
 * - output is kept up to the bound, and a child that exceeds it is killed;
 * - at the deadline or abort the child is killed (SIGKILL) and the answer does not wait for
 *   grandchildren that still hold its pipes. Grandchildren are not killed: run no daemons.
 *
 * @module
 */

/** One program to run. */
export interface ProcessAsk {
  /** Program and arguments, passed as they are. */
  readonly argv: readonly [program: string, ...args: readonly string[]];
  /** The whole environment of the child. */
  readonly env: Readonly<Record<string, string>>;
  readonly cwd?: string;
  /** Written to the child's standard input, which is then closed. Without it: empty. */
  readonly stdin?: Uint8Array<ArrayBuffer>;
  /** How long it may take from start to end of output, in milliseconds. */
  readonly deadlineMs: number;
  /** The most bytes kept of stdout, and of stderr. */
  readonly maxOutputBytes: number;
  /** Aborting it kills the child. */
  readonly signal?: AbortSignal;
}

/** What a child wrote, as far as it was read. */
export interface ProcessOutput {
  readonly stdout: Uint8Array<ArrayBuffer>;
  readonly stderr: Uint8Array<ArrayBuffer>;
}

/** How it ended. Only `failed_to_start` says that nothing ran. */
export type ProcessOutcome =
  | (ProcessOutput & { readonly kind: "exited"; readonly code: number })
  | (ProcessOutput & { readonly kind: "signalled"; readonly signal: string })
  | (ProcessOutput & { readonly kind: "timed_out" })
  | (ProcessOutput & { readonly kind: "aborted" })
  | (ProcessOutput & { readonly kind: "output_too_large"; readonly stream: "stdout" | "stderr" })
  | {
    readonly kind: "failed_to_start";
    readonly code:
      | "program_absent" // no such program, or no such working directory
      | "program_forbidden" // not executable, or our own permissions do not allow it
      | "program_unstartable"; // anything else
    /** For the log: may hold a path. */
    readonly cause: string;
  };

/** Runs one program. Never rejects for what the program does. */
export type RunProcess = (ask: ProcessAsk) => Promise<ProcessOutcome>;
