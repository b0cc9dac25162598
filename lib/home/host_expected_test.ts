import assert from "node:assert/strict";
import { sha256 } from "../host/digest.ts";
import { readTopology } from "../topology/read.ts";
import { hostExpected, ownedSet } from "./host_expected.ts";

const TOPOLOGY = `schema = 1
fleet = "two"
operator = "gateway"

[hosts.gateway]
os = "linux"
arch = "x64"
roles = ["gateway", "operator"]
address = "192.0.2.1"
availability = "continuous"

[hosts.gpu-a]
os = "linux"
arch = "x64"
roles = ["serving"]
address = "192.0.2.10"
runtime = "native"
memory = { model = "unified", budget_mib = 4096, os_reserve_mib = 512 }
availability = "continuous"

[[transports]]
host = "gateway"
kind = "agent"
endpoint = "http://192.0.2.1:8765"
expected_node = "gateway"
token = "gateway"

[[transports]]
host = "gpu-a"
kind = "agent"
endpoint = "http://192.0.2.10:8765"
expected_node = "gpu-a"
token = "gpu-a"
`;

function expectedOf(host: string, names: readonly string[]) {
  const read = readTopology(TOPOLOGY);
  assert.ok(read.kind === "ok", JSON.stringify(read));
  const bytesOf = (text: string) => new TextEncoder().encode(text);
  const set = [
    { path: "topology.toml", bytes: bytesOf(TOPOLOGY) },
    ...names.map((name) => ({ path: `hosts/${host}/${name}`, bytes: bytesOf("schema = 1\n") })),
  ];
  const expected = hostExpected(sha256, ownedSet(sha256, set, read.model), read.model, host, null);
  assert.ok(!("kind" in expected));
  return expected;
}

Deno.test("expected: a view is missed where serves are held against it, and held everywhere", () => {
  const without = expectedOf("gateway", ["agent.toml"]);
  assert.deepEqual([...without.optional], ["topology.toml"]);
  assert.equal(without.files.get("topology.toml")?.length, 2, "of either runtime");
  const serving = expectedOf("gpu-a", ["agent.toml", "serves.toml"]);
  assert.deepEqual([...serving.optional], []);
});

Deno.test("expected: what an owner installs is a file like any other, by its own name", () => {
  const names = ["agent.toml", "authorized_keys", "receiver.toml", "trust.json"];
  const { files, unitsListed } = expectedOf("gpu-a", names);
  assert.deepEqual([...files.keys()].toSorted(), [...names, "topology.toml"].toSorted());
  assert.equal(unitsListed, false);
});
