import assert from "node:assert/strict";
import fc from "fast-check";
import type { ScanProblem } from "./body_facts.ts";
import { JsonScan } from "./json_scan.ts";

const encoder = new TextEncoder();
const decoder = new TextDecoder();

function scanned(chunks: readonly (string | Uint8Array)[]): [JsonScan, ScanProblem | null] {
  const scan = new JsonScan();
  for (const chunk of chunks) scan.push(typeof chunk === "string" ? encoder.encode(chunk) : chunk);
  return [scan, scan.finish()];
}

/** The code and place of the first problem; null when the body is fit. */
function fault(...chunks: (string | Uint8Array)[]): readonly [code: string, at: number] | null {
  const [, problem] = scanned(chunks);
  return problem === null ? null : [problem.code, problem.at];
}

function cut(bytes: Uint8Array, at: readonly number[]): Uint8Array[] {
  const edges = [0, ...at.map((edge) => edge % (bytes.length + 1)).sort((a, b) => a - b)];
  return edges.map((edge, i) => bytes.subarray(edge, edges[i + 1] ?? bytes.length));
}

/** Text that JSON escapes a lot, in any of its spellings. */
const text = fc.string({ unit: fc.constantFrom("a", "\\", '"', "\n", "é", "😀", "{", "]", ":") });
const model = text.filter((name) => name !== "");

function escaped(name: string): string {
  const units = Array.from({ length: name.length }, (_, i) => name.charCodeAt(i));
  return units.map((unit) => `\\u${unit.toString(16).padStart(4, "0")}`).join("");
}

/** A body as some client might write it: `model` anywhere, plain or escaped, and other keys. */
const body = fc.record({
  model,
  before: fc.dictionary(fc.string({ minLength: 7, maxLength: 9 }), fc.jsonValue(), { maxKeys: 4 }),
  after: fc.dictionary(fc.string({ minLength: 7, maxLength: 9 }), fc.jsonValue(), { maxKeys: 4 }),
  spelling: fc.constantFrom('"model"', '"mod\\u0065l"', `"${escaped("model")}"`),
  escape: fc.boolean(),
  indent: fc.constantFrom(undefined, 1, "\t"),
}).map(({ model, before, after, spelling, escape, indent }) => {
  const value = escape ? `"${escaped(model)}"` : JSON.stringify(model);
  const inner = (part: object) => JSON.stringify(part, null, indent).slice(1, -1);
  const parts = [inner(before), `${spelling} : ${value}`, inner(after)];
  return { model, text: ` {${parts.filter((part) => part.trim() !== "").join(",")}}\r\n` };
});

Deno.test("scan: finds the model and its span in any body, however it is cut", () => {
  fc.assert(fc.property(body, fc.array(fc.nat(), { maxLength: 6 }), ({ model, text }, at) => {
    const bytes = encoder.encode(text);
    const [scan, problem] = scanned(cut(bytes, at));
    assert.equal(problem, null, text);
    assert.ok(scan.isComplete);
    const { model: found } = scan.facts;
    assert.equal(found?.name, model);
    assert.equal(
      JSON.parse(decoder.decode(bytes.subarray(found?.span.start, found?.span.end))),
      model,
    );
    assert.equal(JSON.parse(text).model, model);
  }));
});

Deno.test("scan: one body cut at every byte, in two and in single bytes", () => {
  const text =
    '{"a":[1.5e3,true,null,{"model":"no"}],"s":"\\\\\\"","mod\\u0065l":"\\u00e9\\"x","z":{}}';
  const bytes = encoder.encode(text);
  const span = { start: text.indexOf('"\\u00e9'), end: text.indexOf(',"z"') };
  for (let i = 0; i <= bytes.length; i++) {
    const [scan, problem] = scanned([bytes.subarray(0, i), bytes.subarray(i)]);
    assert.equal(problem, null, `cut at ${i}`);
    assert.deepEqual(scan.facts.model, { name: 'é"x', span });
  }
  const [single] = scanned(Array.from(bytes, (_, i) => bytes.subarray(i, i + 1)));
  assert.deepEqual(single.facts.model, { name: 'é"x', span });
});

Deno.test("scan: a body that ends early is never complete, wherever it ends", () => {
  fc.assert(
    fc.property(body, ({ text }) => {
      const bytes = encoder.encode(text.trimEnd());
      for (let i = 0; i < bytes.length; i++) {
        const scan = new JsonScan();
        assert.equal(scan.push(bytes.subarray(0, i)), null);
        assert.equal(scan.isComplete, false);
        assert.equal(scan.finish()?.code, "body_truncated");
      }
    }),
    { numRuns: 40 },
  );
});

Deno.test("scan: a mutated body is complete only when JSON.parse agrees on the model", () => {
  const noise = fc.constantFrom(...'{}[]:,"\\ 01-.eEtfn\x00\x1fu\xff');
  const edit = fc.tuple(fc.nat(), fc.nat({ max: 3 }), fc.array(noise, { maxLength: 2 }));
  fc.assert(
    fc.property(body, fc.array(edit, { minLength: 1, maxLength: 3 }), ({ text }, edits) => {
      let mutated = text;
      for (const [at, removed, put] of edits) {
        const place = at % (mutated.length + 1);
        mutated = mutated.slice(0, place) + put.join("") + mutated.slice(place + removed);
      }
      // A pair of surrogates cut in two has no UTF-8 form: the scan sees what goes over the wire.
      mutated = mutated.toWellFormed();
      const [scan, problem] = scanned([mutated]);
      let parsed: unknown;
      try {
        parsed = JSON.parse(mutated);
      } catch {
        return; // inside strings the scan is more lenient, by design
      }
      if (problem === null) {
        assert.equal(scan.facts.model?.name, (parsed as { model: unknown }).model, mutated);
      } else assert.notEqual(problem.code, "body_not_json", mutated);
    }),
    { numRuns: 400 },
  );
});

Deno.test("scan: never throws, whatever the bytes", () => {
  fc.assert(fc.property(fc.array(fc.uint8Array({ maxLength: 40 })), (chunks) => {
    const [scan, problem] = scanned(chunks);
    assert.ok(problem !== null || scan.facts.model !== null);
    assert.deepEqual(scan.finish(), problem);
    assert.deepEqual(scan.push(encoder.encode("{}")), problem);
  }));
});

Deno.test("scan: only the top-level `model` counts", () => {
  const cases = [
    '{"x":{"model":"a"},"model":"b"}',
    '{"x":[{"model":"a"}],"model":"b","y":{"model":3}}',
    '{"x":"\\"model\\":\\"a\\"","model":"b"}',
    '{"x":["model","a"],"model":"b"}',
    '{"Model":"a","model":"b"}',
    '{"model ":"a","model":"b"}',
  ];
  for (const text of cases) assert.equal(scanned([text])[0].facts.model?.name, "b", text);
});

Deno.test("scan: keys it acts on stand once, in whatever spelling", () => {
  assert.deepEqual(fault('{"model":"a","model":"a"}'), ["duplicate_key", 13]);
  assert.deepEqual(fault('{"mod\\u0065l":"a","\\u006dodel":"b"}'), ["duplicate_key", 18]);
  assert.deepEqual(fault('{"model":"a","stream":true,"stream":true}'), ["duplicate_key", 27]);
  assert.deepEqual(fault('{"model":"a","x":1,"x":2}'), null);
  const long = `"${escaped("max_completion_tokens")}"`;
  const problem = fault(`{"model":"a","max_completion_tokens":1,${long}:2}`);
  assert.deepEqual(problem, ["duplicate_key", 39]);
});

Deno.test("scan: what is not JSON is refused where it stops being JSON", () => {
  const utf16 = new Uint8Array([0xff, 0xfe, 0x7b, 0x00]);
  assert.deepEqual(fault(utf16), ["body_not_json", 0]);
  assert.deepEqual(fault(new Uint8Array([0x7b, 0x00, 0x7d, 0x00])), ["body_not_json", 1]);
  assert.deepEqual(fault("\ufeff{}"), ["body_not_json", 0]);
  assert.deepEqual(fault("\0{}"), ["body_not_json", 0]);
  const cases: [string, number][] = [
    ["{,}", 1],
    ["{]", 1],
    ['{"a"}', 4],
    ['{"a":}', 5],
    ['{"a" 1}', 5],
    ['{"a":1 2}', 7],
    ['{"a":1"b":2}', 6],
    ['{"a":1,}', 7],
    ['{"a":[1,]}', 8],
    ['{"a":[,1]}', 6],
    ['{"a":[1}}', 7],
    ['{"a":tru}', 5],
    ['{"a":True}', 5],
    ['{"a":NaN}', 5],
    ['{"a":01}', 5],
    ['{"a":[01]}', 6],
    ['{"a":[1x]}', 6],
    ['{"a":[1 2]}', 8],
    ['{"a":[1"b"]}', 7],
    ['{"a":{1:2}}', 6],
    ['{"a":+1}', 5],
    ['{"a":1.}', 5],
    ['{"a":.5}', 5],
    ['{"a":1e}', 5],
    ["{'a':1}", 1],
    ["{a:1}", 1],
    ['{"a":1}}', 7],
    ['{"a":1}{', 7],
    ['{"a":1} 2', 8],
    ['{"a":1} "b"', 8],
    ['{"a":/*c*/1}', 5],
    [`{"a":${"t".repeat(200)}}`, 5],
    [`{"a":-${"x".repeat(200)}}`, 5],
  ];
  for (const [text, at] of cases) {
    assert.deepEqual(fault(text), ["body_not_json", at], text);
    assert.deepEqual(fault(...text.split("")), ["body_not_json", at], `${text} byte by byte`);
  }
});

Deno.test("scan: a body without a usable model says which of the reasons it is", () => {
  assert.deepEqual(fault(""), ["body_truncated", 0]);
  assert.deepEqual(fault("  "), ["body_truncated", 2]);
  assert.deepEqual(fault("{}"), ["model_missing", 2]);
  assert.deepEqual(fault('["model"]'), ["body_not_object", 0]);
  assert.deepEqual(fault(' "model"'), ["body_not_object", 1]);
  assert.deepEqual(fault("12"), ["body_not_object", 0]);
  assert.deepEqual(fault("null"), ["body_not_object", 0]);
  for (const value of ["1", "true", "null", '["a"]', '{"a":"b"}', '""', "9".repeat(70)]) {
    assert.deepEqual(fault(`{"model":${value}}`), ["model_not_string", 9], value);
  }
  assert.deepEqual(fault('{"model":"\\x"}'), ["model_not_string", 9]);
  assert.deepEqual(
    fault(encoder.encode('{"model":"'), new Uint8Array([0xc3]), '"}'),
    ["model_not_string", 9],
  );
  assert.equal(fault(`{"model":"${"m".repeat(1024)}"}`), null);
  assert.deepEqual(fault(`{"model":"${"m".repeat(1025)}"}`), ["model_too_long", 9]);
  assert.deepEqual(fault(`{"model":"${"m".repeat(600)}`, `${"m".repeat(600)}"}`), [
    "model_too_long",
    9,
  ]);
});

Deno.test("scan: depth is bounded, in one chunk and in many", () => {
  const nested = (depth: number) =>
    `{"model":"m","x":${"[".repeat(depth - 1)}${"]".repeat(depth - 1)}}`;
  assert.equal(fault(nested(256)), null);
  assert.deepEqual(fault(nested(257)), ["body_too_deep", 17 + 255]);
  assert.deepEqual(fault(...nested(257).split("")), ["body_too_deep", 17 + 255]);
});

Deno.test("scan: backslash runs at chunk borders", () => {
  for (let run = 0; run < 9; run++) {
    const text = `{"x":"${"\\\\".repeat(run)}\\"","y":"${"\\\\".repeat(run)}","model":"m"}`;
    const bytes = encoder.encode(text);
    for (let i = 0; i <= bytes.length; i++) {
      assert.equal(fault(bytes.subarray(0, i), bytes.subarray(i)), null, `${text} cut at ${i}`);
    }
  }
});

Deno.test("scan: strings and numbers of any length pass through", () => {
  const image = "QUJD\\/".repeat(1_000_000);
  const chunks = [`{"n":[${"9".repeat(500)},-0.${"3".repeat(500)}e+10],"x":"`];
  for (let i = 0; i < image.length; i += 65_521) chunks.push(image.slice(i, i + 65_521));
  const [scan, problem] = scanned([...chunks, '","model":"m"}']);
  assert.equal(problem, null);
  const start = chunks.join("").length + '","model":'.length;
  assert.deepEqual(scan.facts.model, { name: "m", span: { start, end: start + 3 } });
});
