import assert from "node:assert/strict";
import fc from "fast-check";
import { pairedDifferences, pairedRatios, quantile, quantiles, spread } from "./statistics.ts";

Deno.test("a quantile is a member of the sample, by nearest rank", () => {
  const sorted = Array.from({ length: 100 }, (_, i) => i + 1);
  assert.equal(quantile(sorted, 0.5), 50);
  assert.equal(quantile(sorted, 0.99), 99);
  assert.equal(quantile(sorted, 1), 100);
  assert.equal(quantile([7], 0.99), 7);
  assert.ok(Number.isNaN(quantile([], 0.5)));
});

Deno.test("one slow event in fifty shows at p99", () => {
  const { p50, p99, max, count } = quantiles([...Array(49).fill(1), 1000]);
  assert.deepEqual({ p50, p99, max, count }, { p50: 1, p99: 1000, max: 1000, count: 50 });
});

Deno.test("quantiles do not depend on order, sort numbers as numbers, and leave the sample alone", () => {
  const sample = [10, 9, 100, 2];
  assert.equal(quantiles(sample).max, 100);
  assert.deepEqual(sample, [10, 9, 100, 2]);
  const numbers = fc.array(fc.double({ noNaN: true, min: -1e9, max: 1e9 }), { minLength: 1 });
  fc.assert(fc.property(numbers, (values) => {
    assert.deepEqual(quantiles(values), quantiles(values.toReversed()));
    const { p50, p99, max } = quantiles(values);
    assert.ok(p50 <= p99 && p99 <= max);
    assert.ok(values.filter((value) => value <= p50).length * 2 >= values.length);
  }));
});

Deno.test("a spread passes over missing rounds and takes the mean of the middle two", () => {
  assert.deepEqual(spread([3, null, 1, NaN, 2]), { min: 1, median: 2, max: 3 });
  assert.deepEqual(spread([4, 1, 10, 2]), { min: 1, median: 3, max: 10 });
  assert.equal(spread([null, NaN]), null);
  assert.equal(spread([]), null);
});

Deno.test("ratios pair by round, not by rank", () => {
  assert.deepEqual(pairedRatios([2, 20], [1, 40]), [2, 0.5]);
  assert.deepEqual(pairedRatios([2, null, 2], [null, 1, 4]), [null, null, 0.5]);
  assert.deepEqual(pairedRatios([2, 2], [1]), [2, null]);
});

Deno.test("a base at or below the floor carries no ratio", () => {
  assert.deepEqual(pairedRatios([2, 2, 2, 2], [0, -3, 5, 6], 5), [null, null, null, 2 / 6]);
});

Deno.test("differences pair by round", () => {
  assert.deepEqual(pairedDifferences([5, null, 5], [2, 2, null]), [3, null, null]);
});
