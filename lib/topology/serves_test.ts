import assert from "node:assert/strict";
import { LAB } from "../../tests/fixtures/topology.ts";
import { readTopology } from "./read.ts";
import { findServeProblems } from "./serves.ts";

const read = readTopology(LAB);
assert.ok(read.kind === "ok");
const { hosts } = read.model;

function faults(host: string, text: string): string[] {
  const declared = hosts[host];
  assert.ok(declared !== undefined);
  return findServeProblems(text, host, declared)
    .map(({ line, path, code }) => `${line} ${path} ${code}`);
}

const DOCKER = `schema = 1
[[serve]]
name = "primary"
capability = "llm.primary"
runtime = "docker"
container = "primary"
port = 8001
`;

Deno.test("serves: fine on the host they fit", () => {
  assert.deepEqual(faults("gpu-a", DOCKER), []);
  assert.deepEqual(faults("voice", DOCKER.replace("llm.primary", "voice.stt")), []);
  assert.deepEqual(faults("voice", DOCKER.replace("llm.primary", "voice")), []);
  assert.deepEqual(faults("desk", "schema = 1\n"), []);
  const native = DOCKER.replace('"docker"', '"native"').replace('container = "primary"\n', "");
  assert.deepEqual(faults("mac", native), []);
});

Deno.test("serves: a reserved host serves its capability only, a model-free host nothing", () => {
  assert.deepEqual(faults("voice", DOCKER), ["4 serve[0].capability serve_on_reserved"]);
  assert.deepEqual(faults("voice", DOCKER.replace("llm.primary", "voices.stt")), [
    "4 serve[0].capability serve_on_reserved",
  ]);
  assert.deepEqual(faults("desk", DOCKER), ["2 serve[0] serve_on_model_free"]);
});

Deno.test("serves: the runtime is declared, and is the host's", () => {
  assert.deepEqual(faults("gpu-a", DOCKER.replace('runtime = "docker"\n', "")), [
    "2 serve[0].runtime missing",
  ]);
  assert.deepEqual(faults("mac", DOCKER), ["5 serve[0].runtime serve_runtime_differs"]);
  assert.deepEqual(faults("gpu-a", DOCKER.replace('container = "primary"\n', "")), [
    "2 serve[0].container missing",
  ]);
  assert.deepEqual(faults("mac", DOCKER.replace('"docker"', '"native"')), [
    "6 serve[0].container not_allowed",
  ]);
});

Deno.test("serves: all at once, and two of one name", () => {
  const twice = DOCKER + DOCKER.replace("schema = 1\n", "").replace("llm.primary", "LLM");
  assert.deepEqual(faults("mac", twice), [
    "10 serve[1].capability malformed",
    "5 serve[0].runtime serve_runtime_differs",
    "11 serve[1].runtime serve_runtime_differs",
    "9 serve[1].name duplicate_id",
  ]);
  assert.deepEqual(faults("mac", "schema = "), ["1 $ syntax"]);
});
