import assert from "node:assert/strict";
import { FakeClock } from "../testing/fake_clock.ts";
import { type Gate, observed, reasonsOf } from "./gate.ts";
import { readGates, readProbes } from "./sample.ts";

const gate = (name: string, read: Gate["read"]): Gate => ({ name, deadlineMs: 1000, read });

Deno.test("gates: one that hangs, one that throws and one that shouts hold nobody up", async () => {
  const clock = new FakeClock();
  let aborted = false;
  const reading = readGates([
    gate("hangs", (signal) => {
      signal.addEventListener("abort", () => aborted = true);
      return new Promise(() => {});
    }),
    gate("throws", () => Promise.reject(new Error("no\x1b[31m"))),
    gate("shouts", () => Promise.resolve(observed("busy", "x", "y".repeat(1_000_000)))),
    gate("clear", () => Promise.resolve(observed("clear", "x", ""))),
  ], clock);
  await clock.advance(1000);
  const readings = await reading;
  assert.deepEqual(readings.map(({ gate, state, code }) => [gate, state, code]), [
    ["hangs", "unknown", "timed_out"],
    ["throws", "unknown", "adapter_failed"],
    ["shouts", "busy", "x"],
    ["clear", "clear", "x"],
  ]);
  assert.equal(aborted, true, "what hangs is not told to stop");
  assert.ok((readings[2]?.detail.length ?? 0) <= 501);
  assert.ok(!(readings[1]?.detail ?? "\x1b").includes("\x1b"));
  assert.deepEqual(reasonsOf(readings).map(({ gate }) => gate), ["hangs", "throws", "shouts"]);
  for (const { observed_at } of readings) assert.match(observed_at, /^2026-01-01T/);
  assert.equal(clock.sleeping, 0, "a deadline is still waited for");
});

Deno.test("probes: all at once, late ones are unknown", async () => {
  const clock = new FakeClock();
  const never = () => new Promise<never>(() => {});
  const pass = () => Promise.resolve({ state: "pass", code: "ok", detail: "", count: 3 } as const);
  const reading = readProbes([
    { name: "late", required: true, deadlineMs: 500, read: never },
    { name: "fine", required: true, deadlineMs: 500, read: pass },
  ], clock);
  await clock.advance(500);
  const { readings } = await reading;
  assert.deepEqual(readings.map(({ state, code, count }) => [state, code, count]), [
    ["unknown", "timed_out", null],
    ["pass", "ok", 3],
  ]);
});
