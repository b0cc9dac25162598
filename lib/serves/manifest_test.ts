import assert from "node:assert/strict";
import fc from "fast-check";
import { DOCKER, NATIVE } from "../../tests/fixtures/serves.ts";
import { LAB } from "../../tests/fixtures/topology.ts";
import { readTopology } from "../topology/read.ts";
import { findServeProblems, readManifest } from "./manifest.ts";
import { readTiers } from "./tier_view.ts";

const read = readTopology(LAB);
assert.ok(read.kind === "ok");
const { hosts } = read.model;

function on(host: string, text: string): string[] {
  const declared = hosts[host];
  assert.ok(declared !== undefined);
  return findServeProblems(text, host, declared)
    .map(({ line, path, code }) => `${line} ${path} ${code}`);
}

function alone(text: string): string[] {
  const read = readManifest(text);
  return read.kind === "ok"
    ? []
    : read.problems.map(({ line, path, code }) => `${line} ${path} ${code}`);
}

/** `text` with another value behind `key`, or without the line. */
function withLine(text: string, key: string, value: string | null): string {
  const line = new RegExp(`^${key} = .*\\n`, "m");
  assert.match(text, line);
  return text.replace(line, value === null ? "" : `${key} = ${value}\n`);
}

/** A second serve behind the first. */
function beside(text: string, other: string): string {
  return text + other.replace("schema = 1\n", "");
}

const MAC = withLine(withLine(NATIVE, "supervisor", '"launchd"'), "unit", '"org.example.local"');

Deno.test("manifest: fine by itself, and on the host it fits", () => {
  assert.deepEqual(alone(DOCKER), []);
  assert.deepEqual(alone(NATIVE), []);
  assert.deepEqual(on("gpu-a", DOCKER), []);
  assert.deepEqual(on("mac", MAC), []);
  assert.deepEqual(on("voice", withLine(DOCKER, "capability", '"voice.stt"')), []);
  assert.deepEqual(on("voice", withLine(DOCKER, "capability", '"voice"')), []);
  assert.deepEqual(on("desk", "schema = 1\n"), []);
});

Deno.test("manifest: defaults are filled in, and nothing else", () => {
  const found = readManifest(DOCKER);
  assert.ok(found.kind === "ok");
  const [serve] = found.model.serve;
  assert.ok(serve?.runtime === "docker");
  assert.deepEqual([serve.start_seconds, serve.depends, serve.env], [900, [], []]);
  assert.deepEqual([serve.run?.network, serve.run?.gpus, serve.run?.read_only], [
    "host",
    "nvidia",
    false,
  ]);
});

Deno.test("manifest: a reserved host serves its capability only, a model-free host nothing", () => {
  assert.deepEqual(on("voice", DOCKER), ["4 serve[0].capability serve_on_reserved"]);
  assert.deepEqual(on("voice", withLine(DOCKER, "capability", '"voices.stt"')), [
    "4 serve[0].capability serve_on_reserved",
  ]);
  assert.deepEqual(on("desk", DOCKER), ["2 serve[0] serve_on_model_free"]);
});

Deno.test("manifest: the runtime is declared, and is the host's", () => {
  assert.deepEqual(on("gpu-a", withLine(DOCKER, "runtime", null)), ["2 serve[0].runtime missing"]);
  assert.deepEqual(on("mac", DOCKER), [
    "5 serve[0].runtime serve_runtime_differs",
    "11 serve[0].memory memory_model_differs",
  ]);
  assert.deepEqual(alone(withLine(DOCKER, "container", null)), ["2 serve[0].container missing"]);
  assert.deepEqual(alone(`${NATIVE}container = "x"\nrun = {}\n`), [
    "19 serve[0].container not_allowed",
    "20 serve[0].run not_allowed",
  ]);
  assert.deepEqual(alone(`${DOCKER}argv = ["x"]\nunit = "x.service"\n`), [
    "18 serve[0].argv not_allowed",
    "19 serve[0].unit not_allowed",
  ]);
});

Deno.test("manifest: without a runtime the rest is looked at all the same", () => {
  const text = withLine(withLine(DOCKER, "runtime", null), "port", "0");
  assert.deepEqual(alone(text), ["2 serve[0].runtime missing", "7 serve[0].port out_of_range"]);
});

Deno.test("manifest: names, ports, containers and units belong to one serve each", () => {
  assert.deepEqual(alone(beside(DOCKER, DOCKER)), [
    "19 serve[1].name duplicate_id",
    "22 serve[1].container duplicate_container",
    "24 serve[1].port duplicate_port",
  ]);
  const other = withLine(withLine(NATIVE, "name", '"b"'), "port", "8003");
  assert.deepEqual(alone(beside(NATIVE, other)), ["26 serve[1].unit duplicate_unit"]);
  const system = withLine(other, "supervisor", '"systemd-system"');
  assert.deepEqual(alone(beside(NATIVE, system)), []);
});

Deno.test("manifest: a container is made one way, by digest, and published from its own network", () => {
  assert.deepEqual(alone(withLine(DOCKER, "run", null)), ["2 serve[0].run missing"]);
  assert.deepEqual(
    alone(`${DOCKER}compose = { file = "compose.yaml", service = "primary" }\n`),
    ["18 serve[0].compose ambiguous"],
  );
  for (const image of ['"engine:latest"', '"engine@sha256:0"', '"sha256:ABC"']) {
    assert.deepEqual(alone(withLine(DOCKER, "image", image)), ["7 serve[0].image malformed"]);
  }
  assert.deepEqual(alone(withLine(DOCKER, "run", '{ network = "models" }')), [
    "17 serve[0].run.container_port missing",
  ]);
  assert.deepEqual(alone(withLine(DOCKER, "run", "{ container_port = 80 }")), [
    "17 serve[0].run.container_port not_allowed",
  ]);
  assert.deepEqual(alone(withLine(DOCKER, "run", "{ privileged = true }")), [
    "17 serve[0].run.privileged unknown_key",
  ]);
  for (const path of ["relative", "/a/../etc"]) {
    const mounts = `{ mounts = [{ source = "${path}", target = "/x" }] }`;
    assert.deepEqual(alone(withLine(DOCKER, "run", mounts)), [
      "17 serve[0].run.mounts[0].source malformed",
    ]);
  }
});

Deno.test("manifest: names of variables here, their values in one file", () => {
  assert.deepEqual(alone(`${NATIVE}env = ["A", "A", "1B"]\n`), [
    "2 serve[0].env_file missing",
    "19 serve[0].env[1] duplicate_env",
    "19 serve[0].env[2] malformed",
  ]);
  assert.deepEqual(alone(`${NATIVE}env_file = "local.env"\n`), [
    "19 serve[0].env_file not_allowed",
  ]);
  assert.deepEqual(alone(`${NATIVE}env = ["A"]\nenv_file = "local.env"\n`), []);
  assert.deepEqual(alone(`${NATIVE}env = { A = "x" }\n`), [
    "19 serve[0].env wrong_type",
  ]);
});

Deno.test("manifest: what a serve waits for is there, and no circle", () => {
  const named = (name: string, port: number, depends: string) =>
    withLine(
      withLine(withLine(NATIVE, "name", `"${name}"`), "port", `${port}`),
      "unit",
      `"${name}"`,
    ) +
    `depends = [${depends}]\n`;
  assert.deepEqual(alone(named("a", 1, '"a", "z"')), [
    "19 serve[0].depends[0] depends_on_itself",
    "19 serve[0].depends[1] depends_unknown",
  ]);
  const three = [named("a", 1, '"b"'), named("b", 2, '"c"'), named("c", 3, '"a"')];
  assert.deepEqual(alone(three.reduce(beside)), ["19 serve[0].depends depends_cycle"]);
  const line = [named("a", 1, '"b", "c"'), named("b", 2, '"c"'), named("c", 3, "")];
  assert.deepEqual(alone(line.reduce(beside)), []);
});

Deno.test("manifest: memory is that of the host, and what is always there fits beside itself", () => {
  const memory = (text: string) => on("gpu-a", withLine(DOCKER, "memory", text));
  assert.deepEqual(memory('{ device = "gpu-9", mib = 1 }'), [
    "11 serve[0].memory.device device_unknown",
  ]);
  assert.deepEqual(memory('{ device = "gpu-0", mib = 95840 }'), [
    "11 serve[0].memory.mib memory_exceeds_device",
  ]);
  assert.deepEqual(memory('{ device = "gpu-0", mib = 95839 }'), []);
  assert.deepEqual(memory('{ devices = ["gpu-0", "gpu-1"], mib = 95839 }'), []);
  assert.deepEqual(memory("{ unified_mib = 1 }"), ["11 serve[0].memory memory_model_differs"]);
  assert.deepEqual(on("mac", withLine(MAC, "memory", "{ unified_mib = 36865 }")), [
    "13 serve[0].memory.unified_mib memory_exceeds_budget",
  ]);
  const second = withLine(
    withLine(withLine(DOCKER, "name", '"b"'), "container", '"b2"'),
    "port",
    "8009",
  );
  const large = '{ device = "gpu-0", mib = 77408 }';
  assert.deepEqual(on("gpu-a", beside(DOCKER, withLine(second, "memory", large))), [
    "27 serve[1].memory residents_exceed_device",
  ]);
  const evictable = withLine(withLine(second, "memory", large), "residency", '"evictable"');
  assert.deepEqual(on("gpu-a", beside(DOCKER, evictable)), []);
});

Deno.test("manifest: a supervisor belongs to its operating system", () => {
  assert.deepEqual(on("mac", NATIVE), ["8 serve[0].supervisor supervisor_of_other_os"]);
});

Deno.test("manifest: an identity kind that proves nothing about its engine is refused", () => {
  assert.deepEqual(alone(withLine(DOCKER, "engine", '"ollama"')), [
    "15 serve[0].identity.kind identity_proves_nothing",
  ]);
  assert.deepEqual(alone(withLine(DOCKER, "identity", '{ kind = "agent" }')), []);
});

Deno.test("manifest: its tier is there, serves its model, and asks its port", () => {
  const tiers = readTiers(`
[[tiers]]
id = "primary"
served_model = "example-org/example-8b"
members = [{ id = "a", endpoint = "http://127.0.0.1:8001" }]
`);
  assert.ok(tiers.kind === "ok");
  const against = (text: string) => {
    const found = readManifest(text, { tiers: tiers.model });
    return found.kind === "ok" ? [] : found.problems.map(({ path, code }) => `${path} ${code}`);
  };
  assert.deepEqual(against(DOCKER), []);
  assert.deepEqual(against(withLine(DOCKER, "tier", '"gone"')), ["serve[0].tier tier_unknown"]);
  assert.deepEqual(against(withLine(DOCKER, "port", "8002")), ["serve[0].port tier_lacks_member"]);
  const renamed = withLine(DOCKER, "model", '{ id = "x", revision = "y" }');
  assert.deepEqual(against(renamed), ["serve[0].tier tier_serves_other_model"]);
  assert.deepEqual(against(`${renamed}served_model = "example-org/example-8b"\n`), []);
});

Deno.test("manifest: what looks like a secret is refused wherever it stands", () => {
  const key = withLine(NATIVE, "argv", '["/x", "hf_abcdefghijklmnopqrstuvwxyz01234567"]');
  assert.ok(alone(key).some((one) => one.endsWith("secret_value")), JSON.stringify(alone(key)));
});

Deno.test("manifest: any text and any line left out end in problems, never in a throw", () => {
  fc.assert(fc.property(fc.string(), (text) => void readManifest(text)));
  const lines = DOCKER.split("\n");
  fc.assert(fc.property(fc.subarray(lines), fc.jsonValue(), (kept, value) => {
    void readManifest(`${kept.join("\n")}\nrun = ${JSON.stringify(value)}\n`);
  }));
});
