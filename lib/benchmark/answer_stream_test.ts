import assert from "node:assert/strict";
import fc from "fast-check";
import { AnswerStream, MOST_TOKENS } from "./answer_stream.ts";

const encoder = new TextEncoder();
const data = (value: unknown) => `data: ${JSON.stringify(value)}\n\n`;
const said = (content: string, more: object = {}) =>
  data({ choices: [{ index: 0, delta: { content }, finish_reason: null, ...more }] });
const logprobs = (token: string, top: readonly (readonly [string, number])[]) => ({
  logprobs: {
    content: [{
      token,
      top_logprobs: top.map(([token, logprob]) => ({ token, logprob })),
    }],
  },
});
const FINISH = data({ choices: [{ index: 0, delta: {}, finish_reason: "stop" }] });
const USAGE = data({ choices: [], usage: { prompt_tokens: 7, completion_tokens: 2 } });
const DONE = "data: [DONE]\n\n";

function read(text: string, size = text.length) {
  const stream = new AnswerStream();
  const bytes = encoder.encode(text);
  for (let at = 0; at < bytes.length; at += size) stream.push(bytes.slice(at, at + size), at);
  return stream.told();
}

Deno.test("answer: text, tokens, alternatives, usage and the end, however it is cut", () => {
  const text = ": a comment\n\n" +
    data({ choices: [{ delta: { role: "assistant", content: "" } }] }) +
    said("Hé", logprobs("Hé", [["Hé", -0.1], ["Ho", -2]])) +
    said("llo", logprobs("llo", [["llo", -0.2], ["y", -3]])) + FINISH + USAGE + DONE;
  const whole = read(text);
  assert.deepEqual([whole.text, whole.finish, whole.whole, whole.fault], [
    "Héllo",
    "stop",
    true,
    null,
  ]);
  assert.deepEqual(whole.tokens, ["Hé", "llo"]);
  assert.deepEqual(whole.top?.[1], [["llo", -0.2], ["y", -3]]);
  assert.deepEqual(whole.usage, { prompt: 7, completion: 2 });
  assert.equal(whole.arrivals.length, 2, "what opens the stream is no token");
  fc.assert(fc.property(fc.integer({ min: 1, max: 40 }), (size) => {
    const { arrivals, ...rest } = read(text, size);
    const { arrivals: _, ...expected } = whole;
    assert.deepEqual(rest, expected);
    assert.equal(arrivals.length, 2);
  }));
});

Deno.test("answer: cut anywhere before its end it is not whole", () => {
  const text = said("a") + said("b") + FINISH + DONE;
  const end = (said("a") + said("b") + FINISH).length;
  for (let cut = 0; cut < end; cut++) {
    assert.equal(read(text.slice(0, cut)).whole, false, JSON.stringify(text.slice(0, cut)));
  }
  assert.equal(read(text.slice(0, end)).whole, true, "a finish reason may be the last");
  assert.equal(read(text.slice(0, end + 3)).whole, false, "but not with half a line behind it");
});

Deno.test("answer: what is no answer is a fault, and ends the reading", () => {
  for (
    const [text, fault] of [
      [data({ error: { message: "out of memory" } }), "engine_error"],
      ["event: error\ndata: {}\n\n", "engine_error"],
      [data({ object: "error", message: "x" }), "engine_error"],
      ['data: {"choices": [\n\n', "stream_malformed"],
      ["data: 7\n\n", "stream_malformed"],
      [`data: ${"x".repeat(1024 * 1024 + 1)}`, "answer_too_large"],
      [said("x".repeat(1024 * 1024 + 1)), "answer_too_large"],
    ] as const
  ) {
    const stream = new AnswerStream();
    const goesOn = stream.push(encoder.encode(said("a") + text), 0);
    assert.deepEqual([goesOn, stream.told().fault, stream.told().whole], [false, fault, false]);
  }
  const endless = new AnswerStream();
  let pushed = 0;
  const one = encoder.encode(said("a").repeat(100));
  while (endless.push(one, 0) && pushed < 3 * MOST_TOKENS) pushed += 100;
  assert.equal(endless.told().fault, "answer_too_large", "an engine that does not stop");
});

Deno.test("answer: tokens only when each piece came with them; a refusal and thoughts are told apart", () => {
  const half = read(said("a", logprobs("a", [["a", -1]])) + said("b") + FINISH);
  assert.deepEqual([half.text, half.tokens, half.top], ["ab", null, null]);
  const bare = read(said("a", logprobs("a", [])) + FINISH);
  assert.deepEqual([bare.tokens, bare.top], [["a"], null]);
  const refused = read(data({ choices: [{ delta: { refusal: "No." } }] }) + FINISH);
  assert.deepEqual([refused.text, refused.refused], ["No.", true]);
  const thought = read(
    data({ choices: [{ delta: { reasoning_content: "hm" } }] }) + said("a") + FINISH,
  );
  assert.deepEqual([thought.text, thought.arrivals.length], ["a", 2]);
  const torn = read(said("\ud83d", logprobs("\ud83d", [["\ud83d", -1]])) + FINISH);
  assert.ok(torn.text.isWellFormed() && torn.tokens?.[0]?.isWellFormed(), "JSON can keep it");
});
