import assert from "node:assert/strict";
import { readDf } from "./fact.ts";
import { readFree, readPressure, readSs, readUpower } from "./linux.ts";
import { readNvidia } from "./nvidia.ts";

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
      1,
      new Set(["tmpfs"]),
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
  assert.deepEqual(readUpower("Daemon:\n  on-battery:      yes\n"), {
    on_battery: true,
    percent: null,
  });
  for (const read of [readFree, readUpower, readPressure, readSs]) {
    assert.equal(read("something else\n"), null, read.name);
  }
  assert.equal(readDf("something else\n", 1, new Set()), null);
  // Without its line for swap the text was cut: no swap is not what it says.
  assert.equal(readFree("  total\nMem: 1 1 1 1 1 1 1\n"), null);
  assert.deepEqual(readSs(""), []);
});

Deno.test("facts: nvidia-smi, with what a device does not tell, and cut into instances", () => {
  const list = (uuid: string, more = "") => `GPU 0: NVIDIA X (UUID: ${uuid})\n${more}`;
  const device = { index: 0, name: "NVIDIA X", uuid: "GPU-1" };
  assert.deepEqual(
    readNvidia("0, NVIDIA X, GPU-1, 24576, 1024, 41, 30.52, [N/A]\n", list("GPU-1")),
    [{
      ...device,
      ...{ memory_total_mib: 24576, memory_used_mib: 1024, celsius: 41, watts: 30.52 },
      ...{ mig: null, instances: [] },
    }],
  );
  const unified = "0, NVIDIA X, GPU-1, [N/A], [Not Supported], ERR!, [Unknown Error], Disabled\n";
  assert.deepEqual(readNvidia(unified, list("GPU-1")), [{
    ...device,
    ...{ memory_total_mib: null, memory_used_mib: null, celsius: null, watts: null },
    ...{ mig: false, instances: [] },
  }]);
  const cut = "0, NVIDIA X, GPU-1, 81920, [N/A], 33, 60.00, Enabled\n";
  const instances = "  MIG 3g.40gb     Device  0: (UUID: MIG-0aa)\n" +
    "  MIG 1g.10gb     Device  1: (UUID: MIG-GPU-1/7/0)\n";
  const [mig] = readNvidia(cut, list("GPU-1", instances)) as { instances: unknown }[];
  assert.deepEqual(mig?.instances, [
    { profile: "3g.40gb", uuid: "MIG-0aa" },
    { profile: "1g.10gb", uuid: "MIG-GPU-1/7/0" },
  ]);
  assert.deepEqual(readNvidia("No devices were found\n", ""), []);
  for (
    const [table, listed] of [
      ["", ""],
      ["", list("GPU-1")],
      [cut, ""],
      [cut, "something else\n"],
      [cut.replace(", 33", ""), list("GPU-1")],
      ["NVIDIA-SMI has failed because it could not talk to the driver.\n", list("GPU-1")],
    ] as const
  ) assert.equal(readNvidia(table, listed), null, table);
});
