import assert from "node:assert/strict";
import { sampleRecord } from "../testing/evidence_samples.ts";
import { distanceOf, divergenceOf } from "./divergence.ts";

Deno.test("divergence: tokens that are not the text count for nothing, the text does", () => {
  const left = sampleRecord("p", ["▁the", "▁cat"], { output: "the cat" });
  const right = sampleRecord("p", ["the", " cat"]);
  assert.equal(divergenceOf(left, right), null);
  assert.deepEqual(divergenceOf(left, sampleRecord("p", ["the", " dog"])), {
    ...{ unit: "code_point", index: 4, left: "cat", right: "dog", nats: null },
  });
});

Deno.test("divergence: an answer that goes on where the other is over", () => {
  const [short, long] = [sampleRecord("p", ["a", "b"]), sampleRecord("p", ["a", "b", "c"])];
  assert.deepEqual(divergenceOf(short, long), {
    ...{ unit: "token", index: 2, left: null, right: "c", nats: null },
  });
  const bare = { ...long, tokens: null, top: null };
  assert.deepEqual(divergenceOf(bare, short), {
    ...{ unit: "code_point", index: 2, left: "c", right: null, nats: null },
  });
});

Deno.test("divergence: code points are counted, not halves of them", () => {
  const blind = (output: string) => sampleRecord("p", [], { output, tokens: null, top: null });
  assert.deepEqual(divergenceOf(blind("👍👍a"), blind("👍👍b")), {
    ...{ unit: "code_point", index: 2, left: "a", right: "b", nats: null },
  });
});

Deno.test("distance: over every token either names; what one does not name is its least likely", () => {
  const left = sampleRecord("p", ["x"], { top: [[["x", -0.5], ["y", -3]]] });
  const right = sampleRecord("p", ["x"], { top: [[["x", -1], ["z", -2]]] });
  // x: 0.5; y: -3 against -2; z: -3 against -2.
  assert.deepEqual(distanceOf(left, right), {
    positions: 1,
    mean: 2.5 / 3,
    max: 2.5 / 3,
    max_at: 0,
  });
  assert.equal(distanceOf(left, { ...right, top: null }), null);
  assert.equal(distanceOf(left, { ...right, top: [[]] }), null);
});

Deno.test("distance: behind the divergence the texts are others, and nothing is compared", () => {
  const make = (...tokens: string[]) =>
    sampleRecord("p", tokens, { top: tokens.map((token, at) => [[token, -at]]) });
  const found = distanceOf(make("a", "b", "x", "x"), make("a", "c", "x", "y"));
  assert.equal(found?.positions, 2);
});
