import assert from "node:assert/strict";
import fc from "fast-check";
import { Slab } from "./slab.ts";

Deno.test("slab: parts have their size, are zero, and never overlap", () => {
  fc.assert(fc.property(fc.array(fc.integer({ min: 0, max: 1500 }), { maxLength: 60 }), (sizes) => {
    const slab = new Slab(4096);
    const parts = sizes.map((size) => slab.take(size));
    parts.forEach((part, i) => {
      assert.equal(part.length, sizes[i]);
      assert.ok(part.every((byte) => byte === 0));
      part.fill(i + 1);
    });
    parts.forEach((part, i) => assert.ok(part.every((byte) => byte === i + 1)));
  }));
});

Deno.test("slab: what is large has a buffer of its own", () => {
  const slab = new Slab(4096);
  const small = slab.take(1024);
  assert.notEqual(slab.take(1025).buffer, small.buffer);
  assert.equal(slab.take(8).buffer, small.buffer);
});
