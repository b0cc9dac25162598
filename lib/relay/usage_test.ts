import assert from "node:assert/strict";
import { mergeUsage, usageIn } from "./usage.ts";

Deno.test("usage: each engine's words, and only what was stated", () => {
  const cases: [string, ReturnType<typeof usageIn>][] = [
    ['"usage":{"prompt_tokens":3,"total_tokens":3}', { input_tokens: 3, output_tokens: null }],
    ['"usage": {"input_tokens": 3, "output_tokens": 4}}', { input_tokens: 3, output_tokens: 4 }],
    ['"usage":{"completion_tokens":0}', { input_tokens: null, output_tokens: 0 }],
    [
      '"usage":{"prompt_tokens_details":{"prompt_tokens":9},"prompt_tokens":3}',
      { input_tokens: 3, output_tokens: null },
    ],
    [
      '"usage":{"prompt_tokens":1},"x":{"usage":{"prompt_tokens":2}}',
      { input_tokens: 2, output_tokens: null },
    ],
    ['"usage":{}', null],
    ['"usage":null', null],
    ['"usage":{"prompt_tokens":-1}', null],
    ['"usage":{"prompt_tokens":1.5}', null],
    ['"usage":{"prompt_tokens":1e3}', null],
    ['"usage":{"prompt_tokens":12', null],
    [`"usage":{"prompt_tokens":${"9".repeat(16)}}`, null],
    ['"content":"\\"usage\\":{\\"prompt_tokens\\":3}"', null],
    ["", null],
  ];
  for (const [text, expected] of cases) assert.deepEqual(usageIn(text), expected, text);
});

Deno.test("usage: the later statement wins, what it leaves out stays", () => {
  const earlier = { input_tokens: 1, output_tokens: 2 };
  assert.deepEqual(mergeUsage(earlier, { input_tokens: null, output_tokens: 5 }), {
    input_tokens: 1,
    output_tokens: 5,
  });
  assert.equal(mergeUsage(earlier, null), earlier);
  assert.equal(mergeUsage(null, earlier), earlier);
  assert.equal(mergeUsage(null, null), null);
});
