import assert from "node:assert/strict";
import type { BodyFacts } from "../../lib/relay/body_facts.ts";
import { tierShape } from "./config_shape.ts";
import { unhonoured } from "./honour.ts";

const NOTHING: BodyFacts = {
  model: null,
  stream: null,
  maxTokens: null,
  tools: false,
  media: new Set(),
};

function refusal(declared: object, facts: Partial<BodyFacts>) {
  const tier = tierShape.parse({
    id: "t",
    served_model: "m",
    dialects: ["openai-chat"],
    identity: { kind: "openai-models" },
    members: [{ id: "a", endpoint: "http://127.0.0.1:1" }],
    ...declared,
  });
  const refused = unhonoured(tier, { ...NOTHING, ...facts });
  return refused === null ? null : [refused.code, refused.message];
}

Deno.test("honour: what the tier declared", () => {
  assert.equal(refusal({}, {}), null);
  assert.equal(refusal({}, { tools: true }), null);
  assert.equal(refusal({ tools: false }, {}), null);
  assert.deepEqual(refusal({ tools: false }, { tools: true }), [
    "tools_unsupported",
    "this model is served without tools; send none",
  ]);
  assert.equal(refusal({ media: ["image"] }, { media: new Set(["image"]) }), null);
  assert.deepEqual(refusal({}, { media: new Set(["image"]) }), [
    "media_unsupported",
    "the request holds image content; this model takes text only",
  ]);
  assert.deepEqual(refusal({ media: ["image", "file"] }, { media: new Set(["image", "audio"]) }), [
    "media_unsupported",
    "the request holds audio content; this model takes text, image, file",
  ]);
});

Deno.test("honour: the smaller of output and context bounds the output asked for", () => {
  const message = "the request asks for up to 9 tokens; this model is served with at most 8";
  const over = ["output_over_limit", message];
  assert.equal(refusal({}, { maxTokens: 1e9 }), null);
  assert.equal(refusal({ max_output_tokens: 8 }, { maxTokens: 8 }), null);
  assert.deepEqual(refusal({ max_output_tokens: 8 }, { maxTokens: 9 }), over);
  assert.deepEqual(refusal({ context_tokens: 8 }, { maxTokens: 9 }), over);
  assert.deepEqual(refusal({ context_tokens: 8, max_output_tokens: 99 }, { maxTokens: 9 }), over);
});
