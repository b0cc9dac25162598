/**
 * What every implementation of the process port does. A subject provides six programs; `ProgramName`
 * says what each of them does.
 *
 * @module
 */

import assert from "node:assert/strict";
import type { ProcessAsk, ProcessOutcome, RunProcess } from "../core/process.ts";

/** What the programs of a subject do. */
export type ProgramName =
  | "speak" // writes `out` to stdout and `err` to stderr, exits 3
  | "die" // kills itself with SIGTERM
  | "hang" // writes `begun` to stdout, never ends
  | "flood" // writes 100000 bytes to stdout, exits 0
  | "complain" // writes 100000 bytes to stderr, exits 0
  | "missing"; // is not there

/** The port under test and its programs. */
export interface ProcessSubject {
  readonly run: RunProcess;
  readonly program: (name: ProgramName) => ProcessAsk["argv"];
  readonly env: Readonly<Record<string, string>>;
}

/** Registers the suite under `name`. */
export function processConformance(name: string, subject: ProcessSubject): void {
  const test = (what: string, run: () => Promise<void>) =>
    Deno.test({
      name: `process, ${name}: ${what}`,
      ignore: Deno.build.os === "windows", // the programs are shell scripts
      fn: run,
    });
  const run = (program: ProgramName, rest: Partial<ProcessAsk> = {}) =>
    subject.run({
      argv: subject.program(program),
      env: subject.env,
      deadlineMs: 20_000,
      maxOutputBytes: 1000,
      ...rest,
    });

  test("an exit code and both outputs", async () => {
    const outcome = await run("speak");
    assert.ok(outcome.kind === "exited");
    assert.equal(outcome.code, 3);
    assert.deepEqual(texts(outcome), ["out", "err"]);
  });

  test("a signal is not an exit code", async () => {
    const outcome = await run("die");
    assert.ok(outcome.kind === "signalled");
    assert.equal(outcome.signal, "SIGTERM");
  });

  test("the deadline ends it, and what it said is kept", async () => {
    const outcome = await run("hang", { deadlineMs: 500 });
    assert.equal(outcome.kind, "timed_out");
    assert.deepEqual(texts(outcome), ["begun", ""]);
  });

  test("an abort ends it; one before the start starts nothing", async () => {
    const controller = new AbortController();
    const outcome = run("hang", { signal: controller.signal });
    setTimeout(() => controller.abort(), 50);
    assert.equal((await outcome).kind, "aborted");
    assert.equal((await run("hang", { signal: AbortSignal.abort() })).kind, "aborted");
  });

  test("too much output is cut and said", async () => {
    const out = await run("flood");
    assert.ok(out.kind === "output_too_large" && out.stream === "stdout");
    assert.equal(out.stdout.length, 1000);
    const err = await run("complain");
    assert.ok(err.kind === "output_too_large" && err.stream === "stderr");
    assert.equal(err.stderr.length, 1000);
    assert.equal((await run("flood", { maxOutputBytes: 100_000 })).kind, "exited");
  });

  test("a program that is not there did not start", async () => {
    const outcome = await run("missing");
    assert.ok(outcome.kind === "failed_to_start");
    assert.equal(outcome.code, "program_absent");
  });
}

function texts(outcome: ProcessOutcome): readonly string[] {
  if (outcome.kind === "failed_to_start") return [];
  return [outcome.stdout, outcome.stderr].map((bytes) => new TextDecoder().decode(bytes));
}
