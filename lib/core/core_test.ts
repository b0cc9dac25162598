import assert from "node:assert/strict";
import fc from "fast-check";
import { countedRandom } from "../testing/counted_random.ts";
import { canonicalJson, type Json } from "./canonical_json.ts";
import { timestamp } from "./clock.ts";
import { hex, ID_PATTERN, newId, requestIdFrom } from "./ids.ts";
import { CorruptLine, decodeLines, encodeLine } from "./json_lines.ts";
import { maskText, SECRET_FIELDS } from "./mask.ts";
import { pathOf } from "./problem.ts";
import { refuse } from "./refusal.ts";
import { Secret } from "./secret.ts";

/** JSON without lone surrogates, -0 (which JSON writes as 0) and own `__proto__`. */
const json: fc.Arbitrary<Json> = fc.jsonValue({ stringUnit: "grapheme", noUnicodeString: false })
  .map((value) => JSON.parse(JSON.stringify(value)) as Json);

/** The same value with the keys of every object in another order. */
function turned(value: Json): Json {
  if (Array.isArray(value)) return value.map(turned);
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).reverse().map(([key, item]): [string, Json] => [key, turned(item)]),
  );
}

Deno.test("canonical JSON: one spelling whatever the order, and the same value comes back", () => {
  fc.assert(fc.property(json, (value) => {
    const text = canonicalJson(value);
    assert.equal(canonicalJson(turned(value)), text);
    assert.deepEqual(JSON.parse(text), value);
    assert.equal(canonicalJson(JSON.parse(text)), text);
  }));
});

Deno.test("canonical JSON: UTF-16 order, no white space, numbers as ECMAScript", () => {
  const value = { "\u{1f600}": 1, "\ufb33": 2, b: [1e21, -0, 0.1], a: null, "": "\u0001" };
  const text = `{"":"\\u0001","a":null,"b":[1e+21,0,0.1],"\u{1f600}":1,"\ufb33":2}`;
  assert.equal(canonicalJson(value), text);
});

Deno.test("canonical JSON: what it cannot hold is a TypeError, anywhere", () => {
  const lone = fc.constantFrom("\ud800", "a\udc00", "\udc00\ud800");
  const wrong = fc.oneof(
    lone,
    lone.map((key) => ({ [key]: 1 })),
    fc.constantFrom(NaN, Infinity, undefined, 1n, () => 1, new Date(0), new Map(), Symbol("s")),
  );
  fc.assert(fc.property(wrong, fc.boolean(), (value, inList) => {
    const whole = (inList ? [1, value] : { a: { b: value } }) as Json;
    assert.throws(() => canonicalJson(whole), TypeError);
  }));
  let deep: Json = 1;
  for (let depth = 0; depth < 129; depth++) deep = [deep];
  assert.throws(() => canonicalJson(deep), TypeError);
});

Deno.test("pathOf: as TOML readers expect", () => {
  assert.equal(pathOf([]), "$");
  assert.equal(pathOf(["tiers", 0, "id"]), "tiers[0].id");
  assert.equal(pathOf(["aliases", "llm.primary"]), 'aliases."llm.primary"');
  assert.equal(pathOf(["", "a"]), '"".a');
});

Deno.test("pathOf: two places never have one path", () => {
  const keys = fc.array(fc.oneof(fc.string(), fc.nat(20)), { maxLength: 4 })
    .filter((path) => typeof path[0] !== "number");
  fc.assert(fc.property(keys, keys, (left, right) => {
    assert.equal(pathOf(left) === pathOf(right), JSON.stringify(left) === JSON.stringify(right));
  }));
});

Deno.test("ids: fresh ones differ, and are ids and request ids", () => {
  const random = countedRandom();
  const ids = Array.from({ length: 20 }, () => newId("req", random));
  assert.equal(ids[0], "req-000102030405060708090a0b");
  assert.equal(new Set(ids).size, 20);
  assert.ok(ids.every((id) => ID_PATTERN.test(id) && requestIdFrom(id) === id));
  fc.assert(fc.property(fc.uint8Array(), (bytes) => {
    assert.match(hex(bytes), /^([0-9a-f]{2})*$/);
    assert.deepEqual(Uint8Array.fromHex(hex(bytes)), bytes);
  }));
});

Deno.test("ids: a request id that would change a header or a log line is not well formed", () => {
  fc.assert(fc.property(fc.string({ unit: "binary" }), (text) => {
    const safe = text.length >= 1 && text.length <= 128 && !/[^A-Za-z0-9._-]/.test(text);
    assert.equal(requestIdFrom(text) === text, safe);
  }));
  for (const text of ["a\n", "\na", "", "a b", "x".repeat(129), "é"]) {
    assert.equal(requestIdFrom(text), null);
  }
  for (const id of ["", "a\n", "1a", "A", "a_b", "-a", "a".repeat(64)]) {
    assert.equal(ID_PATTERN.test(id), false, id);
  }
});

Deno.test("JSON lines: what was encoded is decoded, and a cut anywhere only drops the last", () => {
  fc.assert(fc.property(fc.array(json, { maxLength: 4 }), fc.nat(), (values, cut) => {
    const bytes = new TextEncoder().encode(values.map(encodeLine).join(""));
    assert.deepEqual(decodeLines(bytes), { values, wholeBytes: bytes.length });
    const kept = decodeLines(bytes.subarray(0, cut % (bytes.length + 1)));
    assert.deepEqual(kept.values, values.slice(0, kept.values.length));
    assert.ok(kept.wholeBytes <= cut % (bytes.length + 1));
  }));
  assert.throws(() => decodeLines(Uint8Array.of(0x22, 0xff, 0x22, 0x0a)), CorruptLine);
});

const TOKEN = `anvil_${"Ab0-_".repeat(8)}xyz`;

Deno.test("mask: a token is gone from any text around it, whole or cut", () => {
  fc.assert(fc.property(fc.string(), fc.string(), (before, after) => {
    assert.ok(!maskText(`${before}${TOKEN}${after}`).includes("Ab0-_"));
  }));
  assert.ok(!maskText(TOKEN.slice(0, 30)).includes("Ab0-_"));
  const plain = "a member answered 200 after 12 ms; the api keyed 3 tokens";
  assert.equal(maskText(plain), plain);
});

Deno.test("mask: header values are gone in every writing", () => {
  const value = "hunter2.correct/horse+battery==";
  const object = { "X-Api-Key": value, authorization: `Bearer ${value}`, b: `basic ${value}` };
  for (
    const text of [
      `Bearer ${value}`,
      `x-api-key: ${value}`,
      `API_KEY=${value}`,
      JSON.stringify(object),
      JSON.stringify(JSON.stringify(object)),
      JSON.stringify({ deep: JSON.stringify(JSON.stringify(object)) }),
      JSON.stringify(Object.entries(object)),
    ]
  ) {
    const masked = maskText(text);
    assert.ok(!masked.includes("hunter2") && !masked.includes("horse"), masked);
    assert.equal(maskText(masked), masked);
  }
});

Deno.test("mask: JSON in, JSON out", () => {
  const piece = fc.constantFrom("api_key", "x-api-key", "bearer ", ":", '"', "\\", ",", TOKEN, " ");
  const text = fc.array(piece, { maxLength: 6 }).map((pieces) => pieces.join(""));
  const value = fc.dictionary(text, fc.oneof(text, fc.nat(), fc.array(text), fc.constant(null)));
  fc.assert(
    fc.property(value, (record) => {
      JSON.parse(maskText(JSON.stringify(record)));
    }),
    { numRuns: 500 },
  );
});

Deno.test("mask: names of secret fields, and names that only look like one", () => {
  const isSecret = (name: string) => SECRET_FIELDS.some((pattern) => pattern.test(name));
  const secret = ["Authorization", "x-api-key", "apiKey", "set-cookie", "token", "client_secret"];
  for (const name of [...secret, "accessToken", "private_key"]) assert.ok(isSecret(name), name);
  const open = ["max_tokens", "completion_tokens", "tokens", "author", "key", "monkey", "keys"];
  for (const name of open) assert.ok(!isSecret(name), name);
});

Deno.test("secret: no usual way to print it prints it", () => {
  const secret = new Secret("canary");
  const ways = [
    `${secret}`,
    "" + secret,
    JSON.stringify({ secret }),
    Deno.inspect({ secret }, { showHidden: true, depth: 9 }),
    Object.entries(secret).join(),
    String(new Error("x", { cause: secret }).cause),
  ];
  assert.ok(!ways.join().includes("canary"));
  assert.equal(secret.reveal(), "canary");
  assert.throws(() => structuredClone({ f: secret.reveal.bind(secret) }));
});

Deno.test("refusal and timestamp: their shapes", () => {
  assert.deepEqual(refuse("c", "d"), { kind: "refused", code: "c", detail: "d" });
  assert.equal(refuse("c", "d", "n").nextStep, "n");
  assert.equal(timestamp(0), "1970-01-01T00:00:00.000Z");
});
