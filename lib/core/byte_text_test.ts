import assert from "node:assert/strict";
import fc from "fast-check";
import { byteText, putByteText } from "./byte_text.ts";

const bytes = fc.uint8Array({ maxLength: 300 });

Deno.test("byte text: every byte is one character, and comes back", () => {
  fc.assert(fc.property(bytes, fc.nat(5), (held, before) => {
    const text = byteText(held, 0, held.length);
    assert.deepEqual([...text].map((one) => one.charCodeAt(0)), [...held]);
    const into = new Uint8Array(before + held.length);
    assert.equal(putByteText(text, into, before), into.length);
    assert.deepEqual(into.subarray(before), held);
  }));
});

Deno.test("byte text: what UTF-8 would read otherwise is read byte by byte", () => {
  for (const held of [[0xc3, 0xa9], [0xef, 0xbb, 0xbf], [0xe9], [0xf0, 0x9f, 0x98, 0x80], [0x80]]) {
    const text = byteText(Uint8Array.from([0x61, ...held]), 1, held.length + 1);
    assert.deepEqual([...text].map((one) => one.charCodeAt(0)), held);
  }
  const long = new Uint8Array(10_000).fill(0xe9);
  assert.equal(byteText(long, 0, long.length), "\xe9".repeat(10_000));
  assert.throws(() => putByteText("\u20ac", new Uint8Array(8), 0));
  assert.throws(() => putByteText("a\u20ac", new Uint8Array(2), 0));
});
