import assert from "node:assert/strict";
import fc from "fast-check";
import { Ring } from "./ring.ts";

Deno.test("ring: the newest so many, oldest first, gaps kept", () => {
  fc.assert(fc.property(
    fc.array(fc.option(fc.integer({ min: 0, max: 1_000_000 }), { nil: null }), { maxLength: 40 }),
    fc.integer({ min: 1, max: 12 }),
    (values, size) => {
      const ring = new Ring(size);
      for (const value of values) ring.push(value);
      assert.deepEqual(ring.values(), values.slice(-size));
      assert.equal(ring.held, Math.min(size, values.length));
    },
  ));
});
