import assert from "node:assert/strict";
import fc from "fast-check";
import { growth, modelText, splice } from "./splice.ts";

const encoder = new TextEncoder();

function joined(chunks: readonly Uint8Array[]): number[] {
  return chunks.flatMap((chunk) => [...chunk]);
}

Deno.test("splice: the same bytes as replacing in the joined body, for any chunks", () => {
  const chunks = fc.array(fc.uint8Array({ maxLength: 6 }), { minLength: 1, maxLength: 8 })
    .filter((list) => list.some((chunk) => chunk.length > 0));
  const bytes = fc.uint8Array({ maxLength: 9 });
  fc.assert(fc.property(chunks, fc.nat(), fc.nat(), bytes, (chunks, from, length, put) => {
    const whole = joined(chunks);
    const start = from % whole.length;
    const span = { start, end: start + 1 + length % (whole.length - start) };
    const spliced = splice(chunks, span, put);
    assert.deepEqual(joined(spliced), [
      ...whole.slice(0, span.start),
      ...put,
      ...whole.slice(span.end),
    ]);
    assert.equal(joined(spliced).length, whole.length + growth(span, put));
    assert.ok(spliced.every((piece) => piece.length > 0));
    const ours = new Set<ArrayBufferLike>(chunks.map((chunk) => chunk.buffer));
    assert.ok(
      spliced.every((piece) => piece === put || ours.has(piece.buffer)),
      "views, no copies",
    );
  }));
});

Deno.test("splice: only the chunks up to the span's end are needed, and those are needed", () => {
  const chunks = [encoder.encode('{"model":"al'), encoder.encode('ias","n')];
  const span = { start: 9, end: 16 };
  const text = new TextDecoder();
  const spliced = splice(chunks, span, modelText("org/m", "json"));
  assert.equal(spliced.map((piece) => text.decode(piece)).join("|"), '{"model":|"org/m"|,"n');
  assert.throws(() => splice(chunks.slice(0, 1), span, modelText("m", "json")), /before the span/);
});

Deno.test("model text: JSON text for JSON, plain text for a form", () => {
  const text = new TextDecoder();
  assert.equal(text.decode(modelText('a"\\é', "json")), '"a\\"\\\\é"');
  assert.equal(text.decode(modelText("org/m", "multipart")), "org/m");
});
