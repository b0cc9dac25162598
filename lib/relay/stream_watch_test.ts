import assert from "node:assert/strict";
import fc from "fast-check";
import type { Dialect } from "./dialect.ts";
import { isWhole, type StreamEnd, StreamWatch } from "./stream_watch.ts";

const encoder = new TextEncoder();

function watched(dialect: Dialect, ...chunks: (string | Uint8Array)[]): StreamEnd {
  const watch = new StreamWatch(dialect);
  for (const chunk of chunks) {
    watch.push(typeof chunk === "string" ? encoder.encode(chunk) : chunk);
  }
  return watch.end();
}

const delta = (text: string, finish: string | null = null, index = 0) =>
  `data: ${
    JSON.stringify({
      id: "chatcmpl-1",
      object: "chat.completion.chunk",
      choices: [{ index, delta: { content: text }, finish_reason: finish }],
    })
  }\n\n`;
const usageChunk =
  'data: {"id":"c","choices":[],"usage":{"prompt_tokens":3,"completion_tokens":2}}\n\n';
const done = "data: [DONE]\n\n";
const event = (type: string, rest: object = {}) =>
  `event: ${type}\ndata: ${JSON.stringify({ type, ...rest })}\n\n`;

/** One whole stream per dialect, its last event being the terminator. */
const WHOLE: readonly (readonly [Dialect, string])[] = [
  ["openai-chat", delta("Hel") + ": ping\n\n" + delta("lo", "stop") + usageChunk + done],
  ["openai-completions", 'data: {"choices":[{"text":"a","finish_reason":null}]}\n\n' + done],
  [
    "anthropic-messages",
    event("message_start", { message: { usage: { input_tokens: 3, output_tokens: 1 } } }) +
    event("content_block_delta", { delta: { type: "text_delta", text: "message_stop" } }) +
    event("ping") + event("message_delta", { usage: { output_tokens: 9 } }) + event("message_stop"),
  ],
  [
    "openai-responses",
    event("response.created") + event("response.output_text.delta", { delta: "[DONE]" }) +
    event("response.completed", { response: { usage: { input_tokens: 1, output_tokens: 2 } } }),
  ],
  ["openai-responses", event("response.created") + event("response.failed")],
  ["openai-responses", event("response.created") + event("response.incomplete")],
];

Deno.test("streams: whole with its last byte and never before, in LF and in CRLF", () => {
  for (const [dialect, lf] of WHOLE) {
    for (const text of [lf, lf.replaceAll("\n", "\r\n")]) {
      const bytes = encoder.encode(text);
      // A finish reason may stand before the terminator: that is `finished`, and another question.
      const lastEvent = text.trimEnd().lastIndexOf(text.includes("\r") ? "\r\n\r\n" : "\n\n");
      for (let i = 0; i < bytes.length; i++) {
        const end = watched(dialect, bytes.subarray(0, i));
        assert.equal(end.terminated && !end.midEvent, false, `${dialect} cut at ${i}`);
        if (i > lastEvent + 4) assert.equal(isWhole(end), false, `${dialect} cut at ${i}`);
        assert.equal(end.midLine, i > 0 && bytes[i - 1] !== 0x0a, `${dialect} cut at ${i}`);
      }
      const end = watched(dialect, bytes);
      assert.deepEqual(
        [isWhole(end), end.terminated, end.midLine, end.midEvent, end.errorReported],
        [
          true,
          true,
          false,
          false,
          false,
        ],
      );
    }
  }
});

Deno.test("streams: the same end however the bytes are cut", () => {
  const streams = fc.constantFrom(...WHOLE, ["openai-chat", delta("x") + "data: {"] as const);
  fc.assert(fc.property(streams, fc.array(fc.nat(), { maxLength: 8 }), ([dialect, text], cuts) => {
    const bytes = encoder.encode(text);
    const edges = [0, ...cuts.map((at) => at % bytes.length).sort((a, b) => a - b), bytes.length];
    const chunks = edges.slice(1).map((edge, i) => bytes.slice(edges[i], edge));
    assert.deepEqual(watched(dialect, ...chunks), watched(dialect, bytes));
  }));
});

Deno.test("streams: keeps no reference to the bytes it was given", () => {
  const watch = new StreamWatch("openai-chat");
  const bytes = encoder.encode('data: {"usage":{"prompt_tokens":3');
  watch.push(bytes);
  bytes.fill(0x78);
  watch.push(encoder.encode("}}\n\n"));
  assert.deepEqual(watch.end().data, ['data: {"usage":{"prompt_tokens":3}}']);
});

Deno.test("OpenAI: a finish reason finishes, when nothing of a choice comes after it", () => {
  const finished = (...chunks: string[]) => {
    const { terminated, finished } = watched("openai-chat", ...chunks);
    assert.equal(terminated, false);
    return finished;
  };
  assert.equal(finished(delta("a")), false);
  assert.equal(finished(delta("a", "stop")), true);
  assert.equal(finished(delta("a"), delta("", "tool_calls"), usageChunk), true);
  assert.equal(finished(delta("a"), delta("", "")), false);
  assert.equal(finished(delta("a"), delta("", "null")), false);
  assert.equal(finished(delta("a", "stop", 0), delta("b", null, 1)), false);
  assert.equal(finished(delta("a", "stop", 0), delta("b", "length", 1), usageChunk), true);
  const both = 'data: {"choices":[{"finish_reason":"stop"},{"finish_reason":null}]}\n\n';
  assert.equal(finished(both), false);
  assert.equal(finished(delta('"finish_reason":"stop"')), false);
  assert.equal(finished(delta("a"), usageChunk), false);
  assert.equal(watched("anthropic-messages", delta("a", "stop")).finished, false);
  const cut = watched("openai-chat", delta("a"), delta("b", "stop").slice(0, -1));
  assert.deepEqual([cut.finished, isWhole(cut)], [true, false]);
});

Deno.test("streams: spellings engines use", () => {
  const ends = (dialect: Dialect, text: string) => isWhole(watched(dialect, text));
  assert.equal(ends("openai-chat", "data:[DONE]\n\n"), true);
  assert.equal(ends("openai-chat", ": [DONE]\n\n"), false);
  assert.equal(ends("openai-chat", delta("[DONE]") + delta("data: [DONE]\n\n")), false);
  assert.equal(ends("anthropic-messages", 'data: {"type":"message_stop"}\n\n'), true);
  assert.equal(ends("anthropic-messages", 'data: {"type": "message_stop"}\n\n'), true);
  assert.equal(ends("anthropic-messages", 'event:message_stop\ndata:{"z":0}\n\n'), true);
  assert.equal(ends("anthropic-messages", "data: [DONE]\n\n"), false);
  assert.equal(ends("anthropic-messages", event("message_stopped")), false);
  assert.equal(ends("openai-responses", event("response.completed.not")), false);
  assert.equal(ends("openai-speech", event("speech.audio.done")), true);
  assert.equal(ends("openai-transcriptions", event("transcript.text.done")), true);
});

Deno.test("streams: what engines report as an error", () => {
  const reported = (dialect: Dialect, text: string) => watched(dialect, text).errorReported;
  assert.equal(reported("openai-chat", 'data: {"error":{"message":"m"}}\n\n'), true);
  assert.equal(reported("openai-chat", 'data: {"error": {"message":"m"}}\n\n'), true);
  assert.equal(reported("openai-chat", 'data: {"object":"error","message":"m"}\n\n'), true);
  assert.equal(reported("openai-chat", 'data: {"error":null,"choices":[]}\n\n'), false);
  assert.equal(reported("openai-chat", delta('{"error":')), false);
  assert.equal(reported("anthropic-messages", event("error", { error: {} })), true);
  assert.equal(reported("anthropic-messages", 'data: {"type":"error"}\n\n'), true);
  assert.equal(reported("openai-responses", event("error")), true);
  assert.equal(reported("openai-responses", event("response.failed")), false);
});

Deno.test("streams: a line of any length ends as a short one does, and only its end is kept", () => {
  const output = "x".repeat(1024 * 1024);
  const usage = { input_tokens: 7, output_tokens: 8 };
  const text = event("response.created") +
    event("response.completed", { response: { output, usage } });
  for (const size of [997, 65_536, 2_000_000]) {
    const chunks: string[] = [];
    for (let i = 0; i < text.length; i += size) chunks.push(text.slice(i, i + size));
    const end = watched("openai-responses", ...chunks);
    assert.equal(isWhole(end), true);
    const last = end.data.at(-1) ?? "";
    assert.ok(last.endsWith('"usage":{"input_tokens":7,"output_tokens":8}}}'));
    assert.ok(last.length < 128 * 1024, `${last.length} kept`);
  }
  assert.equal(isWhole(watched("openai-responses", text.slice(0, -2))), false);
});

Deno.test("streams: the first data line and the last three are kept", () => {
  const lines = [1, 2, 3, 4, 5, 6].map((n) => `data: ${n}\n\n`).join("");
  assert.deepEqual(watched("openai-chat", lines).data, [
    "data: 1",
    "data: 4",
    "data: 5",
    "data: 6",
  ]);
});

Deno.test("streams: never throws, whatever the bytes", () => {
  const bits = fc.constantFrom(
    "data",
    "event",
    ":",
    " ",
    "\n",
    "\r",
    "[DONE]",
    '{"error":',
    "\xff",
  );
  fc.assert(fc.property(fc.array(fc.oneof(bits, fc.string()), { maxLength: 30 }), (chunks) => {
    for (const dialect of ["openai-chat", "anthropic-messages", "openai-responses"] as const) {
      const end = watched(dialect, ...chunks);
      assert.ok(!end.midLine || end.midEvent);
    }
  }));
});
