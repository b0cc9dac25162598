import assert from "node:assert/strict";
import fc from "fast-check";
import { sampleRecord } from "../testing/evidence_samples.ts";
import { digestOf } from "./evidence.ts";
import { type AnswerRecord, readRecords, recordsText } from "./record.ts";

const encode = (text: string) => new TextEncoder().encode(text);

async function read(text: string) {
  const bytes = encode(text);
  return await readRecords(bytes, await digestOf(bytes));
}

/** The codes of what is wrong, with their lines. */
async function faults(text: string): Promise<readonly (readonly [string, number | undefined])[]> {
  const found = await read(text);
  return found.kind === "ok" ? [] : found.problems.map(({ code, line }) => [code, line] as const);
}

const record: fc.Arbitrary<AnswerRecord> = fc.record({
  prompt: fc.stringMatching(/^[a-z]{1,8}$/),
  repeat: fc.nat(3),
  output: fc.string({ unit: "grapheme" }),
  finish: fc.constantFrom("stop", "length", null),
  refusal: fc.boolean(),
  error: fc.constantFrom(null, "timed_out"),
  ttft_ms: fc.option(fc.nat(1000)),
  total_ms: fc.option(fc.nat(1000)),
  answer: fc.option(fc.array(fc.string({ unit: "grapheme" }), { maxLength: 5 })),
}).map(({ answer, ...rest }) => ({
  ...rest,
  tokens: answer,
  top: answer?.map((token): [string, number][] => [[token, -0.5]]) ?? null,
}));

Deno.test("records: what is written is read, and named by its digest", async () => {
  const unique = fc.uniqueArray(record, {
    selector: ({ prompt, repeat }) => `${repeat} ${prompt}`,
    maxLength: 6,
  });
  await fc.assert(
    fc.asyncProperty(unique, async (records) => {
      assert.deepEqual(await read(recordsText(records)), { kind: "ok", model: records });
    }),
    { numRuns: 100 },
  );
});

Deno.test("records: each fault with its line", async () => {
  const good = recordsText([sampleRecord("a", ["4"])]);
  assert.deepEqual(await faults(good), []);
  assert.deepEqual(await faults(good + good), [["record_twice", 2]]);
  assert.deepEqual(await faults(good.trimEnd()), [["records_torn", undefined]]);
  assert.deepEqual(await faults(`${good}{}\n`.replace("{}", "[]")), [["wrong_type", 2]]);
  assert.deepEqual(await faults(good.replace('"error"', '"extra":1,"error"')), [[
    "unknown_key",
    1,
  ]]);
  assert.deepEqual(await faults(good.replace(":", ": ")), [["evidence_not_canonical", 1]]);
  assert.deepEqual(await faults(recordsText([sampleRecord("a", ["4"], { top: [] })])), [
    ["record_contradicts", 1],
  ]);
  assert.deepEqual(await faults(recordsText([sampleRecord("a", ["4"], { tokens: null })])), [
    ["record_contradicts", 1],
  ]);
  const bytes = encode(good);
  const other = await readRecords(bytes, "0".repeat(64));
  assert.equal(other.kind === "invalid" && other.problems[0]?.code, "records_tampered");
});

Deno.test("records: bytes of anybody end in a value", async () => {
  await fc.assert(
    fc.asyncProperty(fc.uint8Array({ maxLength: 200 }), async (bytes) => {
      const given = new Uint8Array(bytes);
      await readRecords(given, await digestOf(given));
    }),
    { numRuns: 300 },
  );
});
