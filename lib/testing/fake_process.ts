/**
 * Programs that exist only in a test: a table of what they do.
 *
 * @module
 */

import type { ProcessAsk, ProcessOutcome, RunProcess } from "../core/process.ts";

/** What a fake program does when it is run. */
export interface FakeProgram {
  readonly stdout?: string;
  readonly stderr?: string;
  /** How it ends: an exit code, a signal, or never by itself. Default 0. */
  readonly end?: number | { readonly signal: string } | "never";
}

/** Runs programs out of a table and remembers what was asked. */
export class FakeProcesses {
  readonly asks: ProcessAsk[] = [];
  readonly #programs: (ask: ProcessAsk) => FakeProgram | null;

  /** `programs` answers what `ask` does; null: there is no such program. */
  constructor(programs: (ask: ProcessAsk) => FakeProgram | null) {
    this.#programs = programs;
  }

  /** The port. A program that never ends waits for the real deadline or the signal. */
  readonly run: RunProcess = async (ask) => {
    const stdout = new Uint8Array(0);
    if (ask.signal?.aborted) return { kind: "aborted", stdout, stderr: stdout };
    this.asks.push(ask);
    const program = this.#programs(ask);
    if (program === null) {
      return { kind: "failed_to_start", code: "program_absent", cause: "fake" };
    }
    return await ended(ask, program);
  };
}

async function ended(ask: ProcessAsk, program: FakeProgram): Promise<ProcessOutcome> {
  const out = new TextEncoder().encode(program.stdout ?? "");
  const err = new TextEncoder().encode(program.stderr ?? "");
  const output = {
    stdout: out.slice(0, ask.maxOutputBytes),
    stderr: err.slice(0, ask.maxOutputBytes),
  };
  if (out.length > ask.maxOutputBytes) {
    return { kind: "output_too_large", stream: "stdout", ...output };
  }
  if (err.length > ask.maxOutputBytes) {
    return { kind: "output_too_large", stream: "stderr", ...output };
  }
  const end = program.end ?? 0;
  if (end === "never") return { kind: await deadlineOrAbort(ask), ...output };
  if (typeof end === "number") return { kind: "exited", code: end, ...output };
  return { kind: "signalled", signal: end.signal, ...output };
}

function deadlineOrAbort(ask: ProcessAsk): Promise<"timed_out" | "aborted"> {
  const { promise, resolve } = Promise.withResolvers<"timed_out" | "aborted">();
  const timer = setTimeout(() => {
    ask.signal?.removeEventListener("abort", onAbort);
    resolve("timed_out");
  }, ask.deadlineMs);
  const onAbort = () => {
    clearTimeout(timer);
    resolve("aborted");
  };
  ask.signal?.addEventListener("abort", onAbort, { once: true });
  return promise;
}
