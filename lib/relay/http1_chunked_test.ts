import assert from "node:assert/strict";
import { ChunkedDecoder } from "./http1_chunked.ts";

const latin1 = (text: string) => Uint8Array.from(text, (character) => character.charCodeAt(0));

/** Decodes `text` in one go: payload, consumed, and how it stands. */
function decode(text: string) {
  const decoder = new ChunkedDecoder();
  const bytes = latin1(text);
  decoder.decode(bytes, bytes.length);
  const payload = String.fromCharCode(...bytes.subarray(decoder.from, decoder.to));
  const state = decoder.done ? "done" : decoder.malformed === null ? "open" : "malformed";
  return { payload, state, consumed: decoder.consumed };
}

Deno.test("payload is compacted where it was read", () => {
  const text = "3\r\nabc\r\n00B;x=1\r\n0123456789!\r\n0\r\nt: 1\r\n\r\n";
  assert.deepEqual(decode(text + "HTTP"), {
    payload: "abc0123456789!",
    state: "done",
    consumed: text.length,
  });
});

Deno.test("one chunk in one read is not moved", () => {
  const decoder = new ChunkedDecoder();
  const bytes = latin1("5\r\nhello\r\n");
  decoder.decode(bytes, bytes.length);
  assert.deepEqual([decoder.from, decoder.to], [3, 8]);
  assert.deepEqual(bytes, latin1("5\r\nhello\r\n"));
});

Deno.test("what is not understood is refused", () => {
  for (
    const text of [
      "\r\n",
      ";\r\n",
      " 5\r\n",
      "5 \r\n",
      "0x5\r\n",
      "-5\r\n",
      "g\r\n",
      "5\n",
      "5\rx",
      "5\r\nhello!",
      "5\r\nhello\n",
      "5;a\x00\r\n",
      "5;a\n",
      "0\r\nx\n",
      "0\r\n\n",
      "0\r\nx\x00: 1\r\n",
      "10000000000000000\r\n",
      "00000000000001\r\n",
      `5;${"x".repeat(2000)}`,
      `0\r\n${"x: 1\r\n".repeat(6000)}`,
    ]
  ) assert.equal(decode(text).state, "malformed", JSON.stringify(text.slice(0, 20)));
});

Deno.test("every prefix of a body is open", () => {
  const text = "3;e\r\nabc\r\n0\r\nt: 1\r\n\r\n";
  for (let end = 0; end < text.length; end++) {
    assert.equal(decode(text.slice(0, end)).state, "open", `${end}`);
  }
});
