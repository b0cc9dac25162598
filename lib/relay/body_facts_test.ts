import assert from "node:assert/strict";
import { JsonScan } from "./json_scan.ts";

const encoder = new TextEncoder();

function factsOf(body: object) {
  const bytes = encoder.encode(JSON.stringify({ model: "m", ...body }));
  const whole = new JsonScan();
  whole.push(bytes);
  const single = new JsonScan();
  for (let i = 0; i < bytes.length; i++) single.push(bytes.subarray(i, i + 1));
  assert.equal(whole.finish(), null);
  assert.deepEqual(single.facts, whole.facts);
  const { stream, maxTokens, tools, media } = whole.facts;
  return { stream, maxTokens, tools, media: [...media].sort() };
}

const NOTHING = { stream: null, maxTokens: null, tools: false, media: [] };

Deno.test("facts: stream and limits", () => {
  assert.deepEqual(factsOf({}), NOTHING);
  assert.deepEqual(factsOf({ stream: true }), { ...NOTHING, stream: true });
  assert.deepEqual(factsOf({ stream: false }), { ...NOTHING, stream: false });
  assert.deepEqual(factsOf({ stream: null, max_tokens: null, tools: null }), NOTHING);
  assert.equal(factsOf({ max_tokens: 7 }).maxTokens, 7);
  assert.equal(factsOf({ max_tokens: 7, max_completion_tokens: 9 }).maxTokens, 9);
  assert.equal(factsOf({ max_output_tokens: 1e6 }).maxTokens, 1_000_000);
  assert.equal(factsOf({ x: { max_tokens: 9, stream: true } }).maxTokens, null);
});

Deno.test("facts: a field of the wrong kind is refused, not guessed", () => {
  const wrong: [string, string][] = [
    ['"stream":"true"', "`stream` is a string, expected a boolean"],
    ['"stream":1', "`stream` is a number, expected a boolean"],
    ['"max_tokens":"9"', "`max_tokens` is a string, expected a number"],
    ['"max_tokens":[9]', "`max_tokens` is an array, expected a number"],
    [
      `"max_output_tokens":${"9".repeat(80)}`,
      "`max_output_tokens` is a long scalar, expected a number",
    ],
    ['"tools":{}', "`tools` is an object, expected an array"],
    ['"tools":true', "`tools` is a boolean, expected an array"],
  ];
  for (const [field, detail] of wrong) {
    const scan = new JsonScan();
    scan.push(encoder.encode(`{"model":"m",${field}}`));
    const problem = scan.finish();
    assert.deepEqual([problem?.code, problem?.detail], ["field_invalid", detail]);
  }
});

Deno.test("facts: tools are an array with something in it", () => {
  assert.equal(factsOf({ tools: [] }).tools, false);
  assert.equal(factsOf({ tools: [{ type: "function", function: { name: "f" } }] }).tools, true);
  assert.equal(factsOf({ tools: ["f"] }).tools, true);
  assert.equal(factsOf({ tools: [1] }).tools, true);
  assert.equal(factsOf({ tools: [[]] }).tools, true);
  assert.equal(factsOf({ x: [{ tools: [1] }], messages: [{ tools: [1] }] }).tools, false);
});

Deno.test("facts: media of every dialect's content parts", () => {
  const chat = (...content: object[]) => factsOf({ messages: [{ role: "user", content }] }).media;
  assert.deepEqual(chat({ type: "text", text: "image" }), []);
  assert.deepEqual(chat({ type: "image_url", image_url: { url: "data:" } }), ["image"]);
  assert.deepEqual(chat({ image_url: { url: "data:" }, type: "image_url" }), ["image"]);
  assert.deepEqual(chat({ type: "input_audio", input_audio: { data: "", format: "wav" } }), [
    "audio",
  ]);
  assert.deepEqual(chat({ type: "video_url" }, { type: "file" }), ["file", "video"]);
  const source = { type: "base64", media_type: "image/png", data: "AA" };
  assert.deepEqual(chat({ type: "image", source }), ["image"]);
  assert.deepEqual(chat({ type: "document", source }), ["file"]);
  assert.deepEqual(
    chat({ type: "tool_result", tool_use_id: "t", content: [{ type: "image", source }] }),
    ["image"],
  );
  const input = (...items: object[]) => factsOf({ input: items }).media;
  assert.deepEqual(input({ role: "user", content: [{ type: "input_image" }] }), ["image"]);
  assert.deepEqual(input({ role: "user", content: [{ type: "input_file" }] }), ["file"]);
  assert.deepEqual(
    input({ type: "function_call_output", call_id: "c", output: [{ type: "input_image" }] }),
    ["image"],
  );
  assert.deepEqual(
    input({ type: "computer_call_output", output: { type: "computer_screenshot" } }),
    ["image"],
  );
});

Deno.test("facts: an escaped type is a type", () => {
  const scan = new JsonScan();
  scan.push(
    encoder.encode('{"model":"m","messages":[{"content":[{"t\\u0079pe":"im\\u0061ge"}]}]}'),
  );
  assert.equal(scan.finish(), null);
  assert.deepEqual([...scan.facts.media], ["image"]);
});

Deno.test("facts: what merely looks like media is none", () => {
  const image = { type: "image" };
  const look = [
    {
      tools: [{ type: "image", input_schema: { properties: { type: "image" }, content: [image] } }],
    },
    { messages: [{ role: "assistant", content: [{ type: "tool_use", id: "t", input: image }] }] },
    {
      messages: [{
        role: "assistant",
        content: [{ type: "tool_use", input: { content: [image] } }],
      }],
    },
    { messages: [{ role: "assistant", tool_calls: [{ type: "image", function: image }] }] },
    { messages: [{ role: "user", content: '[{"type":"image"}]' }] },
    { messages: [{ role: "user", content: [{ type: "text", text: "t", cache_control: image }] }] },
    { input: [{ type: "function_call", arguments: '{"type":"image"}' }] },
    { input: "image", metadata: image, response_format: { type: "image" }, content: [image] },
    { messages: [{ role: "user", content: [{ type: ["image"] }] }] },
  ];
  for (const body of look) assert.deepEqual(factsOf(body).media, [], JSON.stringify(body));
});
