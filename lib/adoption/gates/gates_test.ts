import assert from "node:assert/strict";
import { FakeDisk } from "../../testing/fake_disk.ts";
import { FakeProcesses, type FakeProgram } from "../../testing/fake_process.ts";
import type { ProcessAsk } from "../../core/process.ts";
import {
  activationGate,
  diskGate,
  execGate,
  powerGate,
  pressureGate,
  tcpGate,
  unitGate,
} from "./host_gates.ts";
import { compare, snapshotOf } from "./http_gates.ts";
import { valueAt } from "./http_get.ts";

const signal = new AbortController().signal;
const asked = async (gate: (signal: AbortSignal) => Promise<{ state: string; code: string }>) => {
  const { state, code } = await gate(signal);
  return `${state} ${code}`;
};
const says = (program: FakeProgram | null | ((ask: ProcessAsk) => FakeProgram | null)) =>
  new FakeProcesses((ask) => typeof program === "function" ? program(ask) : program).run;

Deno.test("gate unit: activating is busy, an error is unknown, not inactive", async () => {
  const show = (...states: string[]) =>
    states.map((state, at) => `Id=u${at}\nLoadState=loaded\nActiveState=${state}\n`).join("\n");
  for (
    const [stdout, end, wanted] of [
      [show("inactive", "failed"), 0, "clear inactive"],
      [show("inactive", "active"), 0, "busy unit_active"],
      [show("activating", "inactive"), 0, "busy unit_active"],
      [show("deactivating", "inactive"), 0, "busy unit_active"],
      [show("inactive"), 0, "unknown output_not_understood"],
      ["", 1, "unknown program_failed"],
      ["garbage\n\nmore", 0, "unknown output_not_understood"],
    ] as const
  ) {
    assert.equal(await asked(unitGate(says({ stdout, end }), ["u0", "u1"])), wanted, stdout);
  }
  assert.equal(await asked(unitGate(says(null), ["u0"])), "unknown program_failed");
});

Deno.test("gate tcp: established connections of the named ports", async () => {
  const line = "0 0 127.0.0.1:8765 127.0.0.1:40000\n";
  assert.equal(await asked(tcpGate(says({ stdout: line }), [8765])), "busy connections");
  assert.equal(await asked(tcpGate(says({ stdout: "" }), [8765])), "clear no_connection");
  assert.equal(await asked(tcpGate(says({ end: 255 }), [8765])), "unknown program_failed");
});

Deno.test("gate activation: a held lock is busy, and the try leaves nothing held", async () => {
  const disk = new FakeDisk();
  const gate = activationGate(disk.tryLock, ["/lock"]);
  assert.equal(await asked(gate), "clear no_activation");
  assert.equal(await asked(gate), "clear no_activation");
  await disk.tryLock("/lock");
  assert.equal(await asked(gate), "busy another_activation");
});

Deno.test("gate disk: what is to come counts, per file system", async () => {
  const df = (free: number) =>
    `Filesystem 1-blocks Used Available Capacity Mounted on\n/dev/a b 100000 1 ${free} 9% /x\n`;
  const run = says(({ argv }) => ({ stdout: df(argv.at(-1) === "/boot" ? 10 : 1000) }));
  const needs = (store: number, boot: number | null) => () =>
    Promise.resolve([
      { path: "/x", bytes: store },
      ...(boot === null ? [] : [{ path: "/boot", bytes: boot }]),
    ]);
  assert.equal(await asked(diskGate(run, needs(1000, null))), "clear disk_free");
  assert.equal(await asked(diskGate(run, needs(1001, null))), "busy disk_full");
  assert.equal(await asked(diskGate(run, needs(1000, 11))), "busy disk_full");
  assert.equal(await asked(diskGate(run, () => Promise.resolve(null))), "unknown size_unknown");
  const gate = diskGate(says({ stdout: "?" }), needs(1, null));
  assert.equal(await asked(gate), "unknown output_not_understood");
});

Deno.test("gate pressure: a missing file is unknown", async () => {
  const disk = new FakeDisk();
  const gate = pressureGate(disk.files, "memory", "some", 20);
  assert.equal(await asked(gate), "unknown pressure_absent");
  const put = (text: string) =>
    disk.contents.set("/proc/pressure/memory", {
      ...{ kind: "file", mode: 0o444 },
      bytes: new TextEncoder().encode(text),
    });
  put("some avg10=20.00 avg60=0.00 avg300=0.00 total=1\nfull avg10=90.00\n");
  assert.equal(await asked(gate), "clear no_pressure");
  put("some avg10=20.01 avg60=0.00 avg300=0.00 total=1\n");
  assert.equal(await asked(gate), "busy pressure");
  put("nonsense");
  assert.equal(await asked(gate), "unknown output_not_understood");
});

Deno.test("gate power and exec: what they do not say is unknown", async () => {
  for (
    const [stdout, os, wanted] of [
      ["  on-battery:      yes\n", "linux", "busy on_battery"],
      ["  on-battery:      no\n", "linux", "clear on_mains"],
      ["", "linux", "unknown output_not_understood"],
      ["Now drawing from 'Battery Power'\n", "darwin", "busy on_battery"],
      ["Now drawing from 'AC Power'\n", "darwin", "clear on_mains"],
    ] as const
  ) assert.equal(await asked(powerGate(says({ stdout }), os)), wanted);
  for (
    const [program, wanted] of [
      [{ end: 0 }, "clear exit_0"],
      [{ end: 1 }, "busy exit_1"],
      [{ end: 2 }, "unknown exit_2"],
      [{ end: { signal: "SIGKILL" } }, "unknown program_failed"],
      [{ stdout: "x".repeat(5000) }, "unknown output_too_large"],
      [null, "unknown program_failed"],
    ] as const
  ) assert.equal(await asked(execGate(says(program), ["/gate"])), wanted);
});

Deno.test("gate llama-swap: the snapshot of its events, an idle loaded model is none of them", () => {
  const event = (type: string, data: unknown) =>
    `event:message\ndata:${JSON.stringify({ type, data: JSON.stringify(data) })}\n\n`;
  const of = (text: string) => snapshotOf(new TextEncoder().encode(text));
  const ready = event("modelStatus", [{ id: "m", state: "ready" }]);
  const log = event("logData", { source: "proxy", data: 'data: {"type":"inflight"}\n\n' });
  assert.deepEqual(of(log + ready), { inflight: null, moving: [] });
  assert.deepEqual(of(ready + event("inflight", { total: 0 })), { inflight: 0, moving: [] });
  const starting = event("modelStatus", [{ id: "m", state: "starting" }]);
  assert.deepEqual(of(starting + event("inflight", { total: 2 })), { inflight: 2, moving: ["m"] });
  // Cut in the middle: what is not whole was not said.
  assert.equal(of(event("inflight", { total: 2 }).slice(0, -3)).inflight, null);
});

Deno.test("gate http-json: paths and comparisons", () => {
  const value = { a: { "b-c": [{ n: 3 }] }, t: true };
  assert.equal(valueAt(value, "a.b-c[0].n"), 3);
  assert.equal(valueAt(value, "a.x.y"), undefined);
  assert.equal(valueAt(value, "a.constructor"), undefined);
  assert.equal(compare(3, "<=", 3), true);
  assert.equal(compare(3, ">", 3), false);
  assert.equal(compare("3", "<", 4), null);
  assert.equal(compare("x", "!=", 4), true);
});
