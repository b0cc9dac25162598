import assert from "node:assert/strict";
import { systemClock } from "../../lib/host/clock.ts";
import { systemFiles } from "../../lib/host/files.ts";
import { runProcess } from "../../lib/host/process.ts";
import type { Json } from "../../lib/core/canonical_json.ts";
import { diskAt, gatherFacts } from "../../roles/agent/facts/gather.ts";
import { ownerOf } from "../../roles/agent/facts/port_owner.ts";
import { LINUX_RECORDING, MACOS_RECORDING, WINDOWS_RECORDING } from "../fixtures/facts.ts";
import {
  assertFacts,
  factsConformance,
  recordedPorts,
  replay,
} from "../support/facts_conformance.ts";

const { signal } = new AbortController();

const RECORDINGS = {
  linux: LINUX_RECORDING,
  darwin: MACOS_RECORDING,
  windows: WINDOWS_RECORDING,
} as const;

for (const [os, recording] of Object.entries(RECORDINGS)) {
  Deno.test(`facts of ${os}, from texts: seen, or not seen with a reason, and never a throw`, async () => {
    await factsConformance(os, recording);
  });
}

Deno.test({
  name: "facts of linux, from its own programs",
  ignore: Deno.build.os !== "linux",
  fn: async () => {
    const ports = { run: runProcess, files: systemFiles, clock: systemClock, os: "linux" };
    const facts = await gatherFacts(ports, signal);
    assertFacts(facts);
    for (const name of ["memory", "disk", "listening"]) assert.equal(facts[name]?.why, null, name);
    const disk = await diskAt(ports, "/", signal);
    assert.equal((disk.value as { mount: string }).mount, "/", disk.why ?? "");
  },
});

async function values(os: keyof typeof RECORDINGS): Promise<{ readonly [name: string]: Json }> {
  const facts = await gatherFacts(recordedPorts(os, replay(RECORDINGS[os])), signal);
  return Object.fromEntries(Object.entries(facts).map(([name, { value }]) => [name, value]));
}

Deno.test("facts of darwin: pages, blocks and power are counted in their units", async () => {
  const { memory, devices, disk, listening, power, pressure } = await values("darwin");
  assert.deepEqual(memory, {
    total_bytes: 137438953472,
    used_bytes: (2891234 + 610002 + 512345) * 16384,
    available_bytes: (412345 + 2790111 + 96123) * 16384,
    swap_total_bytes: 2048 * 1048576,
    swap_used_bytes: 512.5 * 1048576,
  });
  const [device] = devices as { name: string; memory_used_mib: number }[];
  assert.deepEqual([device?.name, device?.memory_used_mib], ["Apple M2 Ultra", 3298]);
  assert.deepEqual((disk as { mount: string; available_bytes: number }[]).map((row) => row.mount), [
    "/",
    "/System/Volumes/Data",
  ]);
  assert.equal((disk as { available_bytes: number }[])[0]?.available_bytes, 912345678 * 1024);
  assert.deepEqual((listening as { port: number }[]).map(({ port }) => port), [631, 631, 8080]);
  assert.deepEqual([power, pressure], [{ on_battery: false, percent: 100 }, {
    memory_level: "normal",
  }]);
});

Deno.test("facts of windows: in any language, with a drive that is empty and no battery", async () => {
  const { memory, disk, listening, power, pressure } = await values("windows");
  assert.equal((memory as { available_bytes: number }).available_bytes, 48211020 * 1024);
  assert.deepEqual(disk, [{
    mount: "C:",
    total_bytes: 1999422287872,
    used_bytes: 1999422287872 - 1288490188800,
    available_bytes: 1288490188800,
  }]);
  assert.deepEqual(listening, [
    { address: "0.0.0.0", port: 135 },
    { address: "127.0.0.1", port: 8000 },
    { address: "[::]", port: 135 },
  ]);
  assert.deepEqual(power, { on_battery: false, percent: null });
  assert.deepEqual(pressure, { pages_per_second: 12, committed_percent: 31 });
});

Deno.test("facts of a system without an adapter: not seen, and nothing is started", async () => {
  const never = () => Promise.reject(new Error("nothing is started here"));
  const ports = recordedPorts("plan9", never);
  for (const fact of Object.values(await gatherFacts(ports, signal))) {
    assert.equal(fact.why, "unsupported_platform");
  }
  assert.equal((await diskAt(ports, "/", signal)).why, "unsupported_platform");
  const [absent, unc] = [
    await diskAt(recordedPorts("linux", replay({})), "/", signal),
    await diskAt(
      recordedPorts("windows", replay({ "DeviceID=''": "[]\r\n" })),
      "\\\\a",
      signal,
    ),
  ];
  assert.deepEqual([absent.why, unc.why], ["program_absent", "output_not_understood"]);
});

Deno.test("port owner: who listens, from texts of each system", async () => {
  for (const os of ["linux", "darwin", "windows"] as const) {
    const ports = recordedPorts(os, replay(RECORDINGS[os]));
    const { listening, owner } = await ownerOf(ports, 8000, signal);
    assert.deepEqual([listening.value, listening.why, owner.why], [["127.0.0.1"], null, null], os);
    const [one, ...more] = owner.value as { pid: number; started_at: string; command: string }[];
    assert.deepEqual([one?.pid, more.length], [4242, 0]);
    assert.match(one?.started_at ?? "", /^2026-11-29T08:15:00/);
    assert.match(one?.command ?? "", /--port 8000$/);
    assert.ok(!one?.command.includes("k1"), one?.command);
  }
});

Deno.test("port owner: a port that changes hands between two looks has no owner", async () => {
  let looks = 0;
  const recorded = replay(LINUX_RECORDING);
  const run: typeof recorded = async (ask) => {
    const end = await recorded(ask);
    if (end.kind !== "exited" || ask.argv[0] !== "ss" || ++looks === 1) return end;
    const text = new TextDecoder().decode(end.stdout).replace("pid=4242", "pid=4343");
    return { ...end, stdout: new TextEncoder().encode(text) };
  };
  const { owner } = await ownerOf(recordedPorts("linux", run), 8000, signal);
  assert.deepEqual([owner.value, owner.why], [null, "owner_changed"]);
});

Deno.test({
  name: "port owner: this very process, asked of linux",
  ignore: Deno.build.os !== "linux",
  fn: async () => {
    const ports = { run: runProcess, files: systemFiles, clock: systemClock, os: "linux" };
    const listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
    const { port } = listener.addr as Deno.NetAddr;
    const { listening, owner } = await ownerOf(ports, port, signal);
    listener.close();
    assert.deepEqual(listening.value, ["127.0.0.1"]);
    const owners = owner.value as { pid: number; started_at: string; command: string }[];
    assert.deepEqual(owners.map(({ pid }) => pid), [Deno.pid], owner.why ?? "");
    assert.match(owners[0]?.command ?? "", /deno/);
    assert.ok(Math.abs(Date.parse(owners[0]?.started_at ?? "") - Date.now()) < 3_600_000);
    const nobody = await ownerOf(ports, port, signal);
    assert.deepEqual([nobody.listening.value, nobody.owner.value], [[], []]);
  },
});
