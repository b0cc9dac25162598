import assert from "node:assert/strict";
import { readConfig } from "./config.ts";
import { modelAnswer } from "./models.ts";

const read = readConfig(`
schema = 1
node = "gpu-a"
listen = { data = "127.0.0.1:1", admin = "127.0.0.1:2" }
auth = { allow_unauthenticated_loopback = true }
aliases = { "llm.primary" = "big", "org/small v2" = "big" }
[[tiers]]
id = "big"
served_model = "secret/served"
context_tokens = 4096
max_output_tokens = 512
dialects = ["openai-chat"]
identity = { kind = "openai-models" }
members = [{ id = "a", endpoint = "http://127.0.0.1:3" }]
`);
assert.ok(read.kind === "ok");
const config = read.model;
const STARTED = Date.UTC(2026, 0, 2, 3, 4, 5, 678);

function answer(path: string, headers = {}) {
  const response = modelAnswer(config, path, new Headers(headers), STARTED);
  return response === null ? null : JSON.parse(response.body ?? "");
}

const openai = (id: string) => ({ id, object: "model", created: 1767323045, owned_by: "anvil" });
const anthropic = (id: string) => ({
  type: "model",
  id,
  display_name: id,
  created_at: "2026-01-02T03:04:05Z",
  max_input_tokens: 4096,
  max_tokens: 512,
});
const VERSION = { "anthropic-version": "2023-06-01" };

Deno.test("models: the aliases, in the shape the caller's library expects", async () => {
  assert.deepEqual(await answer("/v1/models"), {
    object: "list",
    data: [openai("llm.primary"), openai("org/small v2")],
  });
  assert.deepEqual(await answer("/v1/models", VERSION), {
    data: [anthropic("llm.primary"), anthropic("org/small v2")],
    has_more: false,
    first_id: "llm.primary",
    last_id: "org/small v2",
  });
});

Deno.test("models: one alias, percent-encoded or not; what is served stays private", async () => {
  assert.deepEqual(await answer("/v1/models/llm.primary"), openai("llm.primary"));
  assert.deepEqual(await answer("/v1/models/org/small%20v2", VERSION), anthropic("org/small v2"));
  assert.deepEqual(await answer("/v1/models/org%2Fsmall%20v2"), openai("org/small v2"));
  for (
    const name of ["", "big", "secret/served", "constructor", "__proto__", "%zz", "llm.primary/"]
  ) {
    assert.equal(answer(`/v1/models/${name}`), null, name);
  }
  const all = JSON.stringify([await answer("/v1/models"), await answer("/v1/models", VERSION)]);
  assert.ok(!all.includes("served"));
});
