import assert from "node:assert/strict";
import { FakeClock } from "../testing/fake_clock.ts";
import { memoryBack } from "./memory_proof.ts";
import type { OsFacts } from "./os_facts.ts";
import { portFreed } from "./port_proof.ts";

const signal = new AbortController().signal;

/** Facts that say the next of `values` at each question, the last one for ever. */
function factsOf(values: readonly number[]) {
  let asked = 0;
  const next = () => values[Math.min(asked++, values.length - 1)] ?? 0;
  const facts = {
    available: () => Promise.resolve({ kind: "seen", value: next() }),
    listeners: () =>
      Promise.resolve({
        kind: "seen",
        value: next() === 0 ? [] : [{ port: 8001, pid: 7 }, { port: 9, pid: 1 }],
      }),
  } as unknown as OsFacts;
  return { facts, clock: new FakeClock() };
}

async function passing<Value>(clock: FakeClock, work: Promise<Value>): Promise<Value> {
  let over = false;
  void work.finally(() => over = true);
  for (let n = 0; n < 200 && !over; n++) await clock.advance(100);
  return await work;
}

Deno.test("memory proof: half of what it held is awaited, within five seconds", async () => {
  const late = factsOf([10_000, 10_500, 12_100]);
  assert.deepEqual(await passing(late.clock, memoryBack(late, 4096, 10_000, signal)), {
    kind: "back",
    mib: 2100,
  });
  assert.equal(late.clock.monotonic(), 500);
  const never = factsOf([10_000, 11_000]);
  assert.deepEqual(await passing(never.clock, memoryBack(never, 4096, 10_000, signal)), {
    kind: "missing",
    mib: 1000,
  });
  assert.ok(never.clock.monotonic() >= 5000);
});

Deno.test("memory proof: what is small, or was not measured, is not weighed", async () => {
  const small = factsOf([9_000]);
  assert.deepEqual(await memoryBack(small, 1023, 10_000, signal), { kind: "back", mib: -1000 });
  assert.deepEqual(await memoryBack(small, 4096, null, signal), { kind: "back", mib: null });
});

Deno.test("port proof: a port is waited for, and who holds it is said", async () => {
  const soon = factsOf([1, 1, 0]);
  assert.deepEqual(await passing(soon.clock, portFreed(soon, 8001, 3000, signal)), {
    kind: "free",
  });
  const never = factsOf([1]);
  assert.deepEqual(await passing(never.clock, portFreed(never, 8001, 3000, signal)), {
    kind: "held",
    pids: [7],
  });
});
