import assert from "node:assert/strict";
import { dockerServe } from "../../tests/fixtures/serves.ts";
import { everyMoment } from "../testing/every_moment.ts";
import { FakeClock } from "../testing/fake_clock.ts";
import type { FakeDisk } from "../testing/fake_disk.ts";
import { SimulatedHost } from "../testing/simulated_driver.ts";
import type { Memory } from "./budget.ts";
import { HostLifecycle } from "./lifecycle.ts";
import type { Progress } from "./lifecycle_outcome.ts";
import type { Serve } from "./manifest_shape.ts";

const MEMORY: Memory = {
  model: "discrete",
  devices: [{ id: "gpu-0", uuid: "GPU-0", memory_mib: 24_000, reserve_mib: 1_000 }],
};
const SERVE = dockerServe({ start_seconds: 10 });
const signal = new AbortController().signal;

/** A lifecycle over `host`, whose effects are moments of `disk` when there is one. */
function lifecycleOf(
  clock: FakeClock,
  host: SimulatedHost,
  disk: FakeDisk | null = null,
  serves: readonly Serve[] = [SERVE],
): HostLifecycle {
  const driver = host.driver(disk === null ? undefined : (act) => disk.effect(act));
  const release = () => Promise.resolve();
  return new HostLifecycle({
    serves,
    memory: MEMORY,
    driverOf: () => driver,
    drivers: [driver],
    probe: host.probe,
    facts: { listeners: () => Promise.resolve({ kind: "seen", value: host.listeners }) },
    memoryFacts: () => Promise.resolve(host.memory(100_000)),
    clock,
    tryLock: disk === null
      ? () => Promise.resolve({ kind: "held", release, [Symbol.asyncDispose]: release })
      : disk.tryLock,
    lockPath: "/disk/serves.lock",
  });
}

/** Runs `work` while time passes. */
async function passing<Value>(clock: FakeClock, work: Promise<Value>): Promise<Value> {
  let over = false;
  const ended = work.finally(() => over = true);
  ended.catch(() => {});
  for (let n = 0; n < 500 && !over; n++) await clock.advance(100);
  return await ended;
}

Deno.test("lifecycle: dying at any moment of up, and of down, leaves what is true to be seen", async () => {
  const hosts = new Map<string, { clock: FakeClock; host: SimulatedHost }>();
  const moments = await everyMoment(async (disk, { deaths }) => {
    // One host outlives the deaths of one series; a series begins with a first run.
    if (deaths.length === 0) hosts.set("now", fresh());
    const { clock, host } = hosts.get("now") ?? fresh();
    const lifecycle = lifecycleOf(clock, host, disk);
    const up = await passing(clock, lifecycle.up(SERVE, () => {}, signal));
    assert.equal(up.kind, "up", JSON.stringify(up));
    const down = await passing(clock, lifecycle.down(SERVE, { force: false }, () => {}, signal));
    assert.ok(down.kind === "down" && down.proof.portFree, JSON.stringify(down));
    assert.deepEqual(host.running, []);
    // However often it died, nothing was started while it ran.
    const starts = host.happened.filter((one) => one.startsWith("start")).length;
    const stops = host.happened.filter((one) => one.startsWith("stop")).length;
    assert.equal(starts, stops);
  }, 2);
  assert.equal(moments, 4); // before and after the start, before and after the stop
});

function fresh() {
  const clock = new FakeClock();
  const host = new SimulatedHost(clock);
  host.courses.set(SERVE.name, { healthyAfterMs: 500 });
  return { clock, host };
}

Deno.test("lifecycle: progress is told in its order, with the time since the order", async () => {
  const { clock, host } = fresh();
  const heard: Progress[] = [];
  const lifecycle = lifecycleOf(clock, host);
  const up = await passing(clock, lifecycle.up(SERVE, (one) => heard.push(one), signal));
  assert.ok(up.kind === "up" && up.tookMs >= 500 && up.tookMs < 1000, JSON.stringify(up));
  assert.deepEqual(heard.map(({ step }) => step), [
    "resolving",
    "starting",
    "loading",
    "healthy",
    "proven",
  ]);
  assert.deepEqual(
    heard.map(({ afterMs }) => afterMs).toSorted((a, b) => a - b),
    heard.map(({ afterMs }) => afterMs),
  );
});

Deno.test("lifecycle: a death while it loads is told within a look, not at the deadline", async () => {
  const { clock, host } = fresh();
  host.courses.set(SERVE.name, {
    healthyAfterMs: null,
    diesAfterMs: 1000,
    exitCode: 7,
    lines: ["x"],
  });
  const up = await passing(clock, lifecycleOf(clock, host).up(SERVE, () => {}, signal));
  assert.ok(up.kind === "died" && up.exit?.code === 7 && up.tookMs <= 1300, JSON.stringify(up));
  assert.deepEqual(up.lines, ["x"]);
});

Deno.test("lifecycle: a supervisor that starts it again does not hide that it died", async () => {
  const { clock, host } = fresh();
  host.courses.set(SERVE.name, { healthyAfterMs: null });
  const up = lifecycleOf(clock, host).up(SERVE, () => {}, signal);
  await clock.advance(1000);
  host.crash(SERVE.name);
  host.run(SERVE);
  const ended = await passing(clock, up);
  assert.equal(ended.kind, "died", JSON.stringify(ended));
});

Deno.test("lifecycle: a runtime that falls silent while it loads is unknown at the deadline, not dead", async () => {
  const { clock, host } = fresh();
  host.courses.set(SERVE.name, { healthyAfterMs: null });
  const up = lifecycleOf(clock, host).up(SERVE, () => {}, signal);
  await clock.advance(1000);
  host.silent = true;
  const ended = await passing(clock, up);
  assert.equal(ended.kind, "unknown", JSON.stringify(ended));
});

Deno.test("lifecycle: a pause of the runtime is waited out", async () => {
  const { clock, host } = fresh();
  const up = lifecycleOf(clock, host).up(SERVE, () => {}, signal);
  await clock.advance(300);
  host.silent = true;
  await clock.advance(2000);
  host.silent = false;
  assert.equal((await passing(clock, up)).kind, "up");
});

Deno.test("lifecycle: a port that somebody has is told before anything is started", async () => {
  const { clock, host } = fresh();
  host.run({ ...SERVE, name: "stranger" });
  const up = await passing(clock, lifecycleOf(clock, host).up(SERVE, () => {}, signal));
  assert.ok(up.kind === "refused" && up.code === "port_taken", JSON.stringify(up));
  assert.deepEqual(host.happened, []);
});

Deno.test("lifecycle: memory nobody measured refuses a start", async () => {
  const { clock, host } = fresh();
  const blind = dockerServe({ memory: { device: "gpu-9", mib: 1 } });
  const memory: Memory = {
    model: "discrete",
    devices: [{ id: "gpu-9", uuid: "GPU-9", memory_mib: 9000, reserve_mib: 0 }],
  };
  const driver = host.driver();
  const lifecycle = new HostLifecycle({
    serves: [blind],
    memory,
    driverOf: () => driver,
    drivers: [driver],
    probe: host.probe,
    facts: { listeners: () => Promise.resolve({ kind: "seen", value: [] }) },
    memoryFacts: () => Promise.resolve({ devices: new Map(), availableMib: null }),
    clock,
    tryLock: () => Promise.resolve({ kind: "busy" }),
    lockPath: "/disk/serves.lock",
  });
  const plan = await lifecycle.planUp(blind, signal);
  assert.ok(plan.kind === "refused" && plan.code === "memory_unknown", JSON.stringify(plan));
  const up = await passing(clock, lifecycle.up({ ...blind, start_seconds: 2 }, () => {}, signal));
  assert.ok(up.kind === "refused" && up.code === "host_busy", JSON.stringify(up));
});
