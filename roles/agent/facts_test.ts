import assert from "node:assert/strict";
import type { ProcessOutcome } from "../../lib/core/process.ts";
import { FakeClock } from "../../lib/testing/fake_clock.ts";
import { FakeDisk } from "../../lib/testing/fake_disk.ts";
import { gatherFacts, readDf, readFree, readNvidia, readSs, readUpower } from "./facts.ts";

Deno.test("facts: what each program's output says; what is not understood is not guessed", () => {
  assert.deepEqual(
    readFree(
      "               total        used        free      shared     buffers       cache   available\n" +
        "Mem:     25276026880  1065746432 12000000000       12345      100000  9000000000 24210280448\n" +
        "Swap:     2147483648        4096  2147479552\n",
    ),
    {
      total_bytes: 25276026880,
      used_bytes: 1065746432,
      available_bytes: 24210280448,
      swap_total_bytes: 2147483648,
      swap_used_bytes: 4096,
    },
  );
  assert.deepEqual(
    readDf(
      "Filesystem     1-blocks        Used   Available Capacity Mounted on\n" +
        "/dev/vda1  270553174016 23784677376 85159616512      22% /\n" +
        "tmpfs           1000000           0     1000000       0% /run\n" +
        "a b c              4096           0           -3       0% /mnt/with space\n",
    ),
    [
      {
        mount: "/",
        total_bytes: 270553174016,
        used_bytes: 23784677376,
        available_bytes: 85159616512,
      },
      { mount: "/mnt/with space", total_bytes: 4096, used_bytes: 0, available_bytes: -3 },
    ],
  );
  assert.deepEqual(
    readSs(
      "LISTEN 0      128          0.0.0.0:22        0.0.0.0:*    \n" +
        "LISTEN 0      128             [::]:22           [::]:*    \n" +
        "LISTEN 0      128          0.0.0.0:22        0.0.0.0:*    \n",
    ),
    [{ address: "0.0.0.0", port: 22 }, { address: "[::]", port: 22 }],
  );
  assert.deepEqual(readNvidia("0, NVIDIA X, GPU-1, 24576, 1024, 41, [N/A]\n"), [{
    index: 0,
    name: "NVIDIA X",
    uuid: "GPU-1",
    memory_total_mib: 24576,
    memory_used_mib: 1024,
    celsius: 41,
    watts: null,
  }]);
  assert.deepEqual(readUpower("Daemon:\n  on-battery:      yes\n"), { on_battery: true });
  for (const read of [readFree, readDf, readNvidia, readUpower]) {
    assert.equal(read("something else\n"), null, read.name);
  }
  assert.equal(readSs("something else\n"), null);
  assert.deepEqual(readSs(""), []);
});

Deno.test("facts: what was not seen is null and says why", async () => {
  const nothing = { stdout: new Uint8Array(0), stderr: new Uint8Array(0) };
  const ends: [ProcessOutcome, string][] = [
    [{ kind: "failed_to_start", code: "program_absent", cause: "" }, "program_absent"],
    [{ kind: "exited", code: 9, ...nothing }, "exited_9"],
    [{ kind: "exited", code: 0, ...nothing }, "output_not_understood"],
    [{ kind: "timed_out", ...nothing }, "timed_out"],
  ];
  const ports = { files: new FakeDisk().files, clock: new FakeClock(), os: "linux" };
  const { signal } = new AbortController();
  for (const [end, why] of ends) {
    const facts = await gatherFacts({ ...ports, run: () => Promise.resolve(end) }, signal);
    assert.deepEqual(facts["memory"], {
      value: null,
      source: "free",
      at: "2026-01-01T00:00:00.000Z",
      why,
    });
    assert.equal(facts["pressure"]?.why, "absent");
  }
  const never = () => Promise.reject(new Error("nothing is started here"));
  const elsewhere = await gatherFacts({ ...ports, os: "darwin", run: never }, signal);
  for (const fact of Object.values(elsewhere)) assert.equal(fact.why, "unsupported_platform");
});
