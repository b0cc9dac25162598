import assert from "node:assert/strict";
import fc from "fast-check";
import { similarity } from "./similarity.ts";

/** By the table everybody knows. */
function plain(left: string, right: string): number {
  const [a, b] = [[...left], [...right]];
  if (a.length + b.length === 0) return 1;
  let row = new Array<number>(b.length + 1).fill(0);
  for (const point of a) {
    const next = [0];
    for (const [at, other] of b.entries()) {
      next.push(
        point === other ? (row[at] ?? 0) + 1 : Math.max(row[at + 1] ?? 0, next[at] ?? 0),
      );
    }
    row = next;
  }
  return (2 * (row.at(-1) ?? 0)) / (a.length + b.length);
}

Deno.test("similarity: as the plain table says, for any two texts", () => {
  const text = fc.string({ unit: fc.constantFrom("a", "b", "c", "👍", "é"), maxLength: 80 });
  fc.assert(fc.property(text, text, (left, right) => {
    assert.equal(similarity(left, right), plain(left, right));
    assert.equal(similarity(left, right), similarity(right, left));
    assert.equal(similarity(left, left), 1);
  }));
});

Deno.test("similarity: long texts are compared as far as is said", () => {
  const long = "abcdefghij".repeat(3000);
  assert.equal(similarity(long, `${long}more`), 1);
  assert.equal(similarity(long, ""), 0);
  assert.ok(similarity(long, long.replaceAll("j", "")) > 0.89);
});
