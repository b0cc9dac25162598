import assert from "node:assert/strict";
import fc from "fast-check";
import { INPUT_BOUNDS, readJson } from "./strict_json.ts";

const encoder = new TextEncoder();
const ended = (text: string) => {
  const read = readJson(encoder.encode(text));
  return read.kind === "ok" ? read.value : read.code;
};

Deno.test("strict JSON: what JSON.parse reads, this reads alike", () => {
  fc.assert(fc.property(fc.json(), (text) => {
    const expected: unknown = JSON.parse(text);
    const read = readJson(encoder.encode(text));
    assert.ok(read.kind === "ok", text);
    assert.deepEqual(read.value, expected);
  }));
});

Deno.test("strict JSON: a mutated text is refused where JSON.parse refuses it", () => {
  fc.assert(fc.property(fc.json(), fc.nat(), fc.string(), (text, at, put) => {
    const cut = at % (text.length + 1);
    const bent = text.slice(0, cut) + put + text.slice(cut + 1);
    if (!bent.isWellFormed()) return;
    let valid = true;
    try {
      JSON.parse(bent);
    } catch {
      valid = false;
    }
    const read = readJson(encoder.encode(bent));
    if (!valid) assert.equal(read.kind, "refused", bent);
  }));
});

Deno.test("strict JSON: what two readers could take differently", () => {
  const deep = (levels: number) => "[".repeat(levels) + "]".repeat(levels);
  const cases: [string, unknown][] = [
    ['{"a":1,"a":1}', "json_duplicate_key"],
    ['{"a":1,"\\u0061":1}', "json_duplicate_key"],
    ['{"x":[{"a":1,"b":2,"a":3}]}', "json_duplicate_key"],
    ['{"__proto__":1,"__proto__":2}', "json_duplicate_key"],
    ["NaN", "json_malformed"],
    ["[Infinity]", "json_malformed"],
    ["1e999", "json_number_range"],
    ["-1e999", "json_number_range"],
    ["01", "json_malformed"],
    ["+1", "json_malformed"],
    ["1.", "json_malformed"],
    ["", "json_malformed"],
    ["{} {}", "json_malformed"],
    ["[1,]", "json_malformed"],
    ["{a:1}", "json_malformed"],
    ["'a'", "json_malformed"],
    ["// no\n1", "json_malformed"],
    ['"a\nb"', "json_malformed"],
    ['"\\x"', "json_malformed"],
    ['"\\ud800"', "json_not_utf8"],
    ["\ufeff1", "json_malformed"],
    [deep(200), "json_too_deep"],
    [deep(INPUT_BOUNDS.depth + 1), "json_too_deep"],
    [deep(100_000), "json_too_deep"],
    [`[${"1,".repeat(INPUT_BOUNDS.values)}1]`, "json_too_large"],
    [`"${"x".repeat(INPUT_BOUNDS.bytes)}"`, "json_too_large"],
    [' {"a": [1.5e1, "\\u00e9", true, null]} ', { a: [15, "é", true, null] }],
  ];
  for (const [text, expected] of cases) assert.deepEqual(ended(text), expected, text.slice(0, 40));
  const long = "\\n".repeat(500_000);
  assert.equal(ended(`"${long}"`), "\n".repeat(500_000));
  assert.notEqual(ended(deep(INPUT_BOUNDS.depth)), "json_too_deep");
  const bytes = readJson(Uint8Array.of(0x22, 0xff, 0x22));
  assert.ok(bytes.kind === "refused" && bytes.code === "json_not_utf8");
  const read = readJson(encoder.encode('{"__proto__": {"admin": true}}'));
  assert.ok(read.kind === "ok" && Object.hasOwn(read.value as object, "__proto__"));
  assert.equal((read.value as { admin?: boolean }).admin, undefined);
});
