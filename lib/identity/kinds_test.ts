import assert from "node:assert/strict";
import fc from "fast-check";
import { IDENTITY_KINDS, type IdentityKind, judge, probePath, provesNothing } from "./kinds.ts";

/** Answers as the engines give them, cut to what surrounds the name. `M` is the pinned model. */
const SERVES_PINNED: Readonly<Record<IdentityKind, unknown>> = {
  "openai-models": { object: "list", data: [{ id: "M", object: "model", root: "/models/M" }] },
  "llama-server": { total_slots: 4, model_alias: "M", model_path: "/models/x.gguf" },
  "mlx-vlm": { status: "healthy", loaded_model: "M", loaded_adapter: null },
  "vllm-mlx": { status: "healthy", model_loaded: true, model_name: "M", mcp: null },
  "ollama": { models: [{ name: "M", model: "M", size_vram: 1 }] },
  "lmstudio": {
    data: [{ id: "M", state: "loaded" }, { id: "other", state: "not-loaded" }],
  },
  "sglang": { model_path: "M", tokenizer_path: "M", is_generation: true },
};

const PATHS: Readonly<Record<IdentityKind, string>> = {
  "openai-models": "/v1/models",
  "llama-server": "/props",
  "mlx-vlm": "/health",
  "vllm-mlx": "/health",
  "ollama": "/api/ps",
  "lmstudio": "/api/v0/models",
  "sglang": "/get_model_info",
};

const verdict = (kind: IdentityKind, body: unknown) => judge(kind, "M", JSON.stringify(body));
const mismatch = (...observed: string[]) => ({ kind: "mismatch", observed });

Deno.test("identity: each kind is asked at its path and believes its engine's answer", () => {
  for (const kind of IDENTITY_KINDS) {
    assert.equal(probePath(kind), PATHS[kind]);
    const text = JSON.stringify(SERVES_PINNED[kind]);
    assert.deepEqual(judge(kind, "M", text), { kind: "match" }, kind);
    assert.deepEqual(judge(kind, "m", text).kind, "mismatch", `${kind}: exactly the pinned name`);
    assert.deepEqual(judge(kind, "", text).kind, "mismatch", kind);
  }
});

Deno.test("identity: another model, or none, is a mismatch that names what was observed", () => {
  const cases: [IdentityKind, unknown, unknown][] = [
    ["openai-models", { data: [{ id: "other" }] }, mismatch("other")],
    ["openai-models", { data: [] }, mismatch()],
    ["openai-models", { data: [{ id: "M" }, { id: "lora" }] }, mismatch("M", "lora")],
    ["openai-models", { data: [{ id: "M" }, { id: "M" }] }, mismatch("M", "M")],
    ["openai-models", { data: [{ id: "x", root: "M" }] }, mismatch("x")],
    ["llama-server", { model_alias: "other", model_path: "/m/M.gguf" }, mismatch("other")],
    ["llama-server", { model_path: "/m/other.gguf" }, mismatch("other.gguf")],
    ["mlx-vlm", { status: "healthy", loaded_model: null }, mismatch()],
    ["mlx-vlm", { loaded_model: "other" }, mismatch("other")],
    ["vllm-mlx", { model_loaded: false, model_name: "M" }, mismatch()],
    ["vllm-mlx", { model_loaded: true, model_name: null }, mismatch()],
    ["ollama", { models: [] }, mismatch()],
    ["ollama", { models: [{ name: "M:latest", model: "M:latest" }] }, mismatch("M:latest")],
    ["lmstudio", { data: [{ id: "M", state: "not-loaded" }] }, mismatch()],
    ["lmstudio", { data: [{ id: "x", state: "loaded" }, { id: "M" }] }, mismatch("x")],
    ["sglang", { model_path: "/models/other" }, mismatch("/models/other")],
  ];
  for (const [kind, body, expected] of cases) {
    assert.deepEqual(verdict(kind, body), expected, `${kind} ${JSON.stringify(body)}`);
  }
});

Deno.test("identity: engines that hold several models must have the pinned one among them", () => {
  const models = [{ name: "x" }, { name: "M" }];
  assert.deepEqual(verdict("ollama", { models }), { kind: "match" });
  const data = [{ id: "x", state: "loaded" }, { id: "M", state: "loaded" }];
  assert.deepEqual(verdict("lmstudio", { data }), { kind: "match" });
});

Deno.test("identity: a file llama-server loaded goes by its name or its path", () => {
  const body = { model_alias: "", model_path: "C:\\models\\M" };
  assert.deepEqual(verdict("llama-server", body), { kind: "match" });
  const text = JSON.stringify({ model_path: "/models/M.gguf" });
  assert.deepEqual(judge("llama-server", "M.gguf", text), { kind: "match" });
  assert.deepEqual(judge("llama-server", "/models/M.gguf", text), { kind: "match" });
});

Deno.test("identity: what cannot be read proves nothing", () => {
  const details: Readonly<Record<IdentityKind, string>> = {
    "openai-models": "there is no list `data`",
    "llama-server": "there is no text `model_path`",
    "mlx-vlm": "there is no text `loaded_model`",
    "vllm-mlx": "there is no text `model_name`",
    "ollama": "there is no list `models`",
    "lmstudio": "there is no list `data`",
    "sglang": "there is no text `model_path`",
  };
  for (const kind of IDENTITY_KINDS) {
    const notJson = { kind: "unparseable", detail: "the answer is not JSON" };
    for (const text of ["", "<html>", '{"data":[{"id":"M"}', "\ufeff{}", "M"]) {
      assert.deepEqual(judge(kind, "M", text), notJson, `${kind} ${text}`);
    }
    for (const body of [null, 1, "M", [], ["M"], {}, { data: "M", models: { M: 1 } }]) {
      assert.deepEqual(verdict(kind, body), { kind: "unparseable", detail: details[kind] }, kind);
    }
  }
  for (const item of [null, 3, "M", {}, { id: 3 }, { id: "" }, { id: ["M"] }]) {
    assert.deepEqual(verdict("openai-models", { data: [{ id: "M" }, item] }), {
      kind: "unparseable",
      detail: "an item of `data` has no name",
    });
  }
});

Deno.test("identity: never throws and never matches by accident", () => {
  const name = fc.constantFrom("data", "models", "id", "name", "model", "state", "loaded_model");
  const body = fc.letrec((tie) => ({
    value: fc.oneof(
      { depthSize: "small" },
      fc.jsonValue({ maxDepth: 1 }),
      fc.array(tie("value"), { maxLength: 3 }),
      fc.dictionary(name, tie("value"), { maxKeys: 4 }),
    ),
  })).value;
  fc.assert(fc.property(body, fc.constantFrom(...IDENTITY_KINDS), (body, kind) => {
    assert.notEqual(judge(kind, "the pinned model", JSON.stringify(body)).kind, "match");
  }));
});

Deno.test("identity: the model list of some engines proves nothing, in any spelling", () => {
  for (const engine of ["mlx-lm", "mlx_lm", "MLX-VLM", "mlx_vlm.server", "LM Studio", "Ollama"]) {
    assert.equal(provesNothing("openai-models", engine), true, engine);
    assert.equal(provesNothing("mlx-vlm", engine), false, engine);
  }
  for (const engine of ["vllm", "vllm-mlx", "sglang", "llama.cpp", ""]) {
    assert.equal(provesNothing("openai-models", engine), false, engine);
  }
});
