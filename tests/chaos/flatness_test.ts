import assert from "node:assert/strict";
import { flatnessOf } from "./flatness.ts";
import { SeededRandom } from "./random.ts";

const MIB = 1024 * 1024;

/** An hour of points, each ten seconds; `mib` an hour of growth over a heap that breathes by 6 MiB. */
function hour(growth: (share: number) => number) {
  const random = new SeededRandom("heap");
  return Array.from({ length: 360 }, (_, index) => ({
    at: index * 10_000,
    bytes: (90 + growth(index / 360) + random.next() * 6) * MIB,
  }));
}

Deno.test("flatness: a heap that breathes is flat, and one that grows is not", () => {
  assert.equal(flatnessOf(hour(() => 0))?.flat, true);
  assert.equal(flatnessOf(hour((share) => 3 * share))?.flat, true, "within the bound");
  const leak = flatnessOf(hour((share) => 20 * share));
  assert.equal(leak?.flat, false);
  assert.ok(Math.abs((leak?.slope ?? 0) - 20) < 2, String(leak?.slope));
});

Deno.test("flatness: what is grown in the first half is warming up", () => {
  assert.equal(flatnessOf(hour((share) => Math.min(share, 0.4) * 60))?.flat, true);
  assert.equal(flatnessOf(hour((share) => Math.max(share - 0.5, 0) * 60))?.flat, false);
});

Deno.test("flatness: a handful of points says nothing", () => {
  assert.equal(flatnessOf(hour(() => 0).slice(0, 6)), null);
});
