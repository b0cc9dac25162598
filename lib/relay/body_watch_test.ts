import assert from "node:assert/strict";
import { BodyWatch, type TransportEnd } from "./body_watch.ts";
import type { Dialect } from "./dialect.ts";
import type { ByteSource, HeaderList } from "./upstream.ts";

const encoder = new TextEncoder();
const JSON_TYPE: HeaderList = [["content-type", "application/json; charset=utf-8"]];
const SSE: HeaderList = [["content-type", "text/event-stream"]];

function watch(
  text: string,
  headers: HeaderList = SSE,
  framing: ByteSource["framing"] = "chunked",
  dialect: Dialect = "openai-chat",
): BodyWatch {
  const body = new BodyWatch(dialect, headers, framing);
  const bytes = encoder.encode(text);
  for (let i = 0; i < bytes.length; i += 7) body.push(bytes.subarray(i, i + 7));
  return body;
}

const BROKEN: readonly TransportEnd[] = ["truncated", "reset", "malformed", "aborted"];
const WHOLE = { kind: "whole" };
const CUT = { kind: "truncated", midLine: false };
const finish = 'data: {"choices":[{"delta":{},"finish_reason":"stop"}]}\n\n';
const done = "data: [DONE]\n\n";

Deno.test("stream: after a terminator it is whole, however the connection broke", () => {
  for (const transport of ["end", ...BROKEN] as const) {
    assert.deepEqual(watch(finish + done).end(transport), WHOLE, transport);
  }
});

Deno.test("stream: a finish reason alone is whole only when the connection ended well", () => {
  assert.deepEqual(watch(finish).end("end"), WHOLE);
  for (const transport of BROKEN) assert.deepEqual(watch(finish).end(transport), CUT, transport);
});

Deno.test("stream: without an end it is cut, however well the transport ended", () => {
  const text = 'data: {"choices":[{"delta":{"content":"a"},"finish_reason":null}]}\n\n';
  for (const framing of ["length", "chunked", "close"] as const) {
    assert.deepEqual(watch(text, SSE, framing).end("end"), CUT);
    assert.deepEqual(watch("", SSE, framing).end("end"), CUT);
    assert.deepEqual(watch(`${text}data: {"ch`, SSE, framing).end("end"), {
      kind: "truncated",
      midLine: true,
    });
    assert.deepEqual(watch(`${text}data: [DONE]\n`, SSE, framing).end("end"), CUT);
  }
});

Deno.test("stream: an error the member reports is its own, also before a terminator", () => {
  const error = 'data: {"error":{"message":"out of memory"}}\n\n';
  for (const text of [error, error + done]) {
    for (const transport of ["end", "reset"] as const) {
      assert.deepEqual(watch(text).end(transport), { kind: "error_reported" });
    }
  }
  assert.deepEqual(watch(error.slice(0, -1)).end("end"), CUT);
});

Deno.test("stream: of a dialect without a terminator it ends with its transport", () => {
  const of = (text: string) => watch(text, SSE, "chunked", "openai-embeddings");
  assert.deepEqual(of("data: 1\n\n").end("end"), WHOLE);
  assert.deepEqual(of("data: 1\n").end("end"), CUT);
  assert.deepEqual(of("data: 1\n\n").end("reset"), CUT);
});

Deno.test("encoded: whole by its transport at most, and nothing of ours is put into it", () => {
  for (const type of [...SSE, ...JSON_TYPE]) {
    const body = watch("\x1f\x8b", [type, ["content-encoding", "gzip"]], "close");
    assert.equal(body.takesEvents, false);
    assert.equal(body.usage(), null);
    assert.deepEqual(body.end("end"), { kind: "unverified" });
    assert.deepEqual(body.end("reset"), CUT);
  }
  const identity: HeaderList = [...SSE, ["content-encoding", "identity"]];
  assert.deepEqual(watch(done, identity).end("end"), WHOLE);
  assert.equal(watch(done, identity).takesEvents, true);
});

Deno.test("JSON: framing that was satisfied is enough, a FIN is not", () => {
  const texts = [
    '{"id":"c","model":null,"model":"m","tools":{},"stream":"no","usage":{"prompt_tokens":1}}',
    '[{"index":0,"score":0.5},{"index":1,"score":0.25}]',
  ];
  for (const text of texts) {
    for (const framing of ["length", "chunked"] as const) {
      assert.deepEqual(watch(text, JSON_TYPE, framing).end("end"), WHOLE);
      for (const end of BROKEN) assert.deepEqual(watch(text, JSON_TYPE, framing).end(end), CUT);
    }
    assert.deepEqual(watch(`${text}\n`, JSON_TYPE, "close").end("end"), WHOLE, text);
    for (let i = 0; i < text.length; i++) {
      assert.deepEqual(watch(text.slice(0, i), JSON_TYPE, "close").end("end"), CUT, `cut at ${i}`);
    }
  }
});

Deno.test("other bodies: a FIN alone proves nothing", () => {
  for (const type of ["audio/mpeg", "text/plain", "application/jsonl", ""]) {
    const headers: HeaderList = [["content-type", type]];
    assert.deepEqual(watch('{"a":', headers, "close").end("end"), { kind: "unverified" });
    assert.deepEqual(watch("ID3", headers, "length").end("end"), WHOLE);
    assert.deepEqual(watch("ID3", headers, "close").end("reset"), CUT);
  }
});

Deno.test("usage: from a JSON body's end, from a stream's first and last lines", () => {
  const padded = `{"choices":[{"text":"${"x".repeat(5000)}"}],"usage":`;
  assert.deepEqual(
    watch(`${padded}{"prompt_tokens":11,"completion_tokens":22}}`, JSON_TYPE).usage(),
    { input_tokens: 11, output_tokens: 22 },
  );
  assert.equal(watch(`${padded}{"prompt_tokens":11,"comp`, JSON_TYPE).usage(), null);
  const anthropic = [
    'data: {"type":"message_start","message":{"usage":{"input_tokens":25,"output_tokens":1}}}',
    ...Array.from({ length: 9 }, () => 'data: {"type":"content_block_delta"}'),
    'data: {"type":"message_delta","usage":{"output_tokens":15}}',
    'data: {"type":"message_stop"}',
    "",
  ].join("\n\n");
  assert.deepEqual(watch(anthropic, SSE, "chunked", "anthropic-messages").usage(), {
    input_tokens: 25,
    output_tokens: 15,
  });
  const chat =
    `${finish}data: {"choices":[],"usage":{"prompt_tokens":3,"completion_tokens":4}}\n\n`;
  assert.deepEqual(watch(chat + done).usage(), { input_tokens: 3, output_tokens: 4 });
  assert.equal(watch(finish + done).usage(), null);
});
