/**
 * What every adapter of node facts must do, whatever the programs of its system say.
 *
 * @module
 */

import assert from "node:assert/strict";
import { z } from "zod";
import type { ProcessOutcome, RunProcess } from "../../lib/core/process.ts";
import { ADAPTERS, FACTS, gatherFacts } from "../../roles/agent/facts/gather.ts";
import type { Fact, FactPorts } from "../../roles/agent/facts/fact.ts";
import { FakeClock } from "../../lib/testing/fake_clock.ts";
import { FakeDisk } from "../../lib/testing/fake_disk.ts";
import type { Recording } from "../fixtures/facts.ts";

const bytes = z.int().min(0);
const address = z.strictObject({ address: z.string().min(1), port: z.int().min(1).max(65535) });

/** The value of each fact, the same on every system but for `pressure`. */
const VALUES = {
  memory: z.strictObject({
    total_bytes: bytes.min(1),
    used_bytes: bytes,
    available_bytes: bytes,
    swap_total_bytes: bytes,
    swap_used_bytes: bytes,
  }),
  devices: z.array(z.strictObject({
    index: z.int().min(0),
    name: z.string().min(1),
    uuid: z.string().nullable(),
    memory_total_mib: z.number().nullable(),
    memory_used_mib: z.number().nullable(),
    celsius: z.number().nullable(),
    watts: z.number().nullable(),
    mig: z.boolean().nullable(),
    instances: z.array(z.strictObject({ profile: z.string(), uuid: z.string() })),
  })),
  disk: z.array(z.strictObject({
    mount: z.string().min(1),
    total_bytes: bytes,
    used_bytes: bytes,
    available_bytes: z.int(),
  })),
  listening: z.array(address),
  power: z.strictObject({ on_battery: z.boolean(), percent: z.int().min(0).max(100).nullable() }),
  pressure: z.record(z.string(), z.unknown()),
} as const satisfies { readonly [name in typeof FACTS[number]]: z.ZodType };

/** Throws unless each fact is seen and has its shape, or is not seen and says why. */
export function assertFacts(facts: { readonly [name: string]: Fact }): void {
  assert.deepEqual(Object.keys(facts), [...FACTS]);
  for (const name of FACTS) {
    const { value, source, at, why } = facts[name] as Fact;
    assert.ok(source !== "" && !Number.isNaN(Date.parse(at)), name);
    assert.equal(value === null, why !== null, `${name}: ${why}`);
    if (why === null) VALUES[name].parse(value);
    else assert.match(why, /^[a-z0-9_]+$/);
  }
}

/** Runs nothing: says what was recorded. */
export function replay(recording: Recording): RunProcess {
  return ({ argv }) => {
    const line = argv.join(" ");
    const key = Object.keys(recording).filter((part) => line.includes(part))
      .sort((a, b) => b.length - a.length)[0];
    const text = key === undefined ? undefined : recording[key];
    return Promise.resolve(
      text === undefined
        ? { kind: "failed_to_start", code: "program_absent", cause: "" }
        : exited(text),
    );
  };
}

function exited(text: string, code = 0): ProcessOutcome {
  const stdout = new TextEncoder().encode(text);
  return { kind: "exited", code, stdout, stderr: new Uint8Array(0) };
}

const PRESSURE = "some avg10=0.12 avg60=0.00 avg300=0.00 total=1\n" +
  "full avg10=0.00 avg60=0.00 avg300=0.00 total=0\n";

/** Ports of a machine of which only the recording is known. */
export function recordedPorts(os: string, run: RunProcess): FactPorts {
  const disk = new FakeDisk();
  const file = { kind: "file", bytes: new TextEncoder().encode(PRESSURE), mode: 0o444 } as const;
  for (const name of ["cpu", "memory", "io"]) disk.contents.set(`/proc/pressure/${name}`, file);
  return { run, files: disk.files, clock: new FakeClock(), os };
}

/** Every way in which programs disappoint, on the adapter of `os`. */
export async function factsConformance(os: string, recording: Recording): Promise<void> {
  const { signal } = new AbortController();
  const gather = async (run: RunProcess) => {
    const facts = await gatherFacts(recordedPorts(os, run), signal);
    assertFacts(facts);
    return facts;
  };
  for (const [name, { why }] of Object.entries(await gather(replay(recording)))) {
    assert.equal(why, null, `${os}: ${name}`);
  }
  const nothing = { stdout: new Uint8Array(0), stderr: new Uint8Array(0) };
  const ends: readonly (readonly [ProcessOutcome, string])[] = [
    [{ kind: "failed_to_start", code: "program_absent", cause: "" }, "program_absent"],
    [{ kind: "failed_to_start", code: "program_forbidden", cause: "" }, "program_forbidden"],
    [{ kind: "timed_out", ...nothing }, "timed_out"],
    [{ kind: "signalled", signal: "SIGKILL", ...nothing }, "signalled"],
    [{ kind: "output_too_large", stream: "stdout", ...nothing }, "output_too_large"],
    [exited("half", 0), "output_cut"],
    [exited("", 9), "exited_9"],
    [exited("Une autre langue\n"), "output_not_understood"],
    [exited("[{}]\n"), "output_not_understood"],
    [exited("\0\0\0\n"), "output_not_understood"],
  ];
  for (const [end, expected] of ends) {
    const facts = await gather(() => Promise.resolve(end));
    for (const [name, { why }] of Object.entries(facts)) {
      if (name === "pressure" && ADAPTERS[os]?.pressure === null) continue;
      assert.equal(why, expected, `${os}: ${name}`);
    }
  }
  // Cut at every byte, or with one byte of another: no throw, and no shape that is none.
  for (const [key, text] of Object.entries(recording)) {
    for (let at = 0; at < text.length; at += text.length > 600 ? 7 : 1) {
      for (const spoiled of [text.slice(0, at), `${text.slice(0, at)}\n`, bend(text, at)]) {
        await gather(replay({ ...recording, [key]: spoiled }));
      }
    }
  }
}

function bend(text: string, at: number): string {
  return `${text.slice(0, at)}${text[at] === "9" ? "x" : "9"}${text.slice(at + 1)}`;
}
