import assert from "node:assert/strict";
import { linuxFacts, readDevices, readFree, readSs } from "./linux_facts.ts";
import { readPs } from "./ps_table.ts";
import { FakeProcesses } from "../testing/fake_process.ts";

const signal = new AbortController().signal;

Deno.test("linux facts: a process line of ps, with its control group and its arguments", () => {
  const text = "      1       0       1 Sun Nov  9 20:29:01 2025 12308 Ss   " +
    "0::/user.slice/user-0.slice/x.service                        /usr/bin/engine --port 8001\n" +
    "   4321       1    4321 Mon Dec 29 00:00:59 2025     0 Z    -  [engine] <defunct>\n";
  assert.deepEqual(readPs(text, true), [{
    pid: 1,
    parent: 0,
    group: 1,
    startedAt: Date.UTC(2025, 10, 9, 20, 29, 1),
    residentMib: 13,
    isZombie: false,
    scope: "0::/user.slice/user-0.slice/x.service",
    commandLine: "/usr/bin/engine --port 8001",
  }, {
    pid: 4321,
    parent: 1,
    group: 4321,
    startedAt: Date.UTC(2025, 11, 29, 0, 0, 59),
    residentMib: 0,
    isZombie: true,
    scope: "",
    commandLine: "[engine] <defunct>",
  }]);
  assert.equal(readPs("USER PID\n", true), null);
});

Deno.test("linux facts: who listens, and that nobody tells who", () => {
  const text =
    'LISTEN 0      511          0.0.0.0:8001       0.0.0.0:*    users:(("a",pid=7,fd=3),("a",pid=8,fd=3))\n' +
    "LISTEN 0      128             [::]:22            [::]:*    \n" +
    "LISTEN 0      128    127.0.0.53%lo:53         0.0.0.0:*\n";
  assert.deepEqual(readSs(text), [
    { port: 8001, pid: 7 },
    { port: 8001, pid: 8 },
    { port: 22, pid: null },
    { port: 53, pid: null },
  ]);
  assert.equal(readSs("State Recv-Q\n"), null);
  // At most 15 bytes of a name are kept by the system.
  for (const name of ['",pid=1,fd=9', 'a"b']) {
    const line = `LISTEN 0 5 0.0.0.0:8001 0.0.0.0:* users:(("${name}",pid=7,fd=3))\n`;
    assert.deepEqual(readSs(line), [{ port: 8001, pid: null }], `named ${name}: nobody is told`);
  }
});

Deno.test("linux facts: available memory", () => {
  const head =
    "               total        used        free      shared     buffers       cache   available\n";
  assert.equal(readFree(`${head}Mem:     1000000000 1 1 1 1 1  524288000\nSwap: 0 0 0\n`), 500);
  assert.equal(readFree("Mem: 1 2 3\n"), null);
});

Deno.test("linux facts: whose device memory it is, where the device tells", () => {
  const uses = "GPU-a, 500\nGPU-b, 0\n";
  assert.deepEqual(
    readDevices(uses, "GPU-a, 7, 400\nGPU-a, 8, [N/A]\nGPU-x, 9, 1\n"),
    new Map([
      ["GPU-a", { usedMib: 500, processes: [{ pid: 7, mib: 400 }] }],
      ["GPU-b", { usedMib: 0, processes: [] }],
    ]),
  );
  assert.deepEqual(readDevices(uses, null)?.get("GPU-a"), { usedMib: 500, processes: null });
  assert.equal(readDevices("GPU-a, [N/A]\n", ""), null);
});

Deno.test("linux facts: a program that is not there, hangs or fails is unknown, never empty", async () => {
  const facts = (end: number | "absent") =>
    linuxFacts(new FakeProcesses(() => end === "absent" ? null : { end, stdout: "" }).run);
  const absent = await facts("absent").processes(signal);
  assert.deepEqual([absent.kind, "code" in absent && absent.code], [
    "unknown",
    "runtime_unreachable",
  ]);
  const failed = await facts(2).listeners(signal);
  assert.deepEqual([failed.kind, "code" in failed && failed.code], [
    "unknown",
    "runtime_not_understood",
  ]);
  assert.equal((await facts(0).available(signal)).kind, "unknown");
  assert.deepEqual(await facts("absent").devices(signal), { kind: "seen", value: new Map() });
  assert.equal((await facts(9).devices(signal)).kind, "unknown");
});
