/**
 * The process port by `Deno.Command`.
 *
 * @module
 */

import type { ProcessAsk, ProcessOutcome, ProcessOutput } from "../core/process.ts";
import { causeOf } from "./os_error.ts";

/** Why we stopped listening before the child was done. */
type Stop = "timed_out" | "aborted" | "stdout" | "stderr";

/** Runs one program to its end. */
export async function runProcess(ask: ProcessAsk): Promise<ProcessOutcome> {
  if (ask.signal?.aborted) return { kind: "aborted", ...nothing() };
  let child: Deno.ChildProcess;
  try {
    child = spawn(ask);
  } catch (error) {
    return notStarted(error);
  }
  const stopped = Promise.withResolvers<Stop>();
  const onAbort = () => stopped.resolve("aborted");
  const timer = setTimeout(() => stopped.resolve("timed_out"), ask.deadlineMs);
  ask.signal?.addEventListener("abort", onAbort);
  const stdout = new Capture(child.stdout, ask.maxOutputBytes, () => stopped.resolve("stdout"));
  const stderr = new Capture(child.stderr, ask.maxOutputBytes, () => stopped.resolve("stderr"));
  const fed = feed(child, ask.stdin);
  const whole = Promise.all([child.status, stdout.done, stderr.done]);
  try {
    const stop = await Promise.race([whole.then(() => null), stopped.promise]);
    if (stop !== null) await end(child, stdout, stderr);
    const ended = await child.status;
    await fed;
    const output = { stdout: stdout.bytes(), stderr: stderr.bytes() };
    return outcome(stop, ended, output);
  } finally {
    clearTimeout(timer);
    ask.signal?.removeEventListener("abort", onAbort);
  }
}

function spawn(ask: ProcessAsk): Deno.ChildProcess {
  const [program, ...args] = ask.argv;
  return new Deno.Command(program, {
    args,
    clearEnv: true,
    env: { ...ask.env },
    stdin: ask.stdin === undefined ? "null" : "piped",
    stdout: "piped",
    stderr: "piped",
    ...(ask.cwd === undefined ? {} : { cwd: ask.cwd }),
  }).spawn();
}

/** Kills the child and lets go of its pipes, which a grandchild may hold open for ever. */
async function end(child: Deno.ChildProcess, stdout: Capture, stderr: Capture): Promise<void> {
  try {
    child.kill("SIGKILL");
  } catch {
    // It ended by itself meanwhile.
  }
  await Promise.all([stdout.cancel(), stderr.cancel()]);
}

async function feed(child: Deno.ChildProcess, stdin: ProcessAsk["stdin"]): Promise<void> {
  if (stdin === undefined) return;
  try {
    await new Blob([stdin]).stream().pipeTo(child.stdin);
  } catch {
    // A child that does not read its input to the end is no fault of ours.
  }
}

function outcome(
  stop: Stop | null,
  status: Deno.CommandStatus,
  output: ProcessOutput,
): ProcessOutcome {
  if (stop === "stdout" || stop === "stderr") {
    return { kind: "output_too_large", stream: stop, ...output };
  }
  if (stop !== null) return { kind: stop, ...output };
  if (status.signal !== null) return { kind: "signalled", signal: status.signal, ...output };
  return { kind: "exited", code: status.code, ...output };
}

function notStarted(error: unknown): ProcessOutcome {
  const code = error instanceof Deno.errors.NotFound
    ? "program_absent"
    : error instanceof Deno.errors.PermissionDenied || error instanceof Deno.errors.NotCapable
    ? "program_forbidden"
    : "program_unstartable";
  return { kind: "failed_to_start", code, cause: causeOf(error) };
}

function nothing(): ProcessOutput {
  return { stdout: new Uint8Array(0), stderr: new Uint8Array(0) };
}

/** Keeps what a stream gives, up to a bound. */
class Capture {
  readonly done: Promise<void>;
  readonly #reader: ReadableStreamDefaultReader<Uint8Array>;
  readonly #chunks: Uint8Array[] = [];
  #room: number;

  constructor(stream: ReadableStream<Uint8Array>, maxBytes: number, onFull: () => void) {
    this.#reader = stream.getReader();
    this.#room = maxBytes;
    this.done = this.#pull(onFull);
  }

  async #pull(onFull: () => void): Promise<void> {
    for (;;) {
      const { value, done } = await this.#reader.read();
      if (done) return;
      this.#chunks.push(value.subarray(0, this.#room));
      if (value.length > this.#room) return onFull();
      this.#room -= value.length;
    }
  }

  async cancel(): Promise<void> {
    await this.#reader.cancel().catch(() => {});
  }

  bytes(): Uint8Array<ArrayBuffer> {
    const whole = new Uint8Array(this.#chunks.reduce((sum, chunk) => sum + chunk.length, 0));
    let at = 0;
    for (const chunk of this.#chunks) {
      whole.set(chunk, at);
      at += chunk.length;
    }
    return whole;
  }
}
