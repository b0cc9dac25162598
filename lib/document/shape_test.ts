import assert from "node:assert/strict";
import { z } from "zod";
import { nearest } from "./nearest.ts";
import { checkShape, fault } from "./shape.ts";

const shape = z.strictObject({
  text: z.string().min(2).max(4),
  count: z.int().min(1).max(9).default(1),
  flag: z.boolean().optional(),
  kind: z.enum(["small", "large"]),
  list: z.array(z.strictObject({ endpoint: z.string() })).min(1).max(2),
  table: z.strictObject({ interval_ms: z.int().default(1) }).prefault({}),
  names: z.record(z.string().min(1), z.strictObject({ colour: z.string() })).default({}),
  odd: z.string().regex(/^x/).optional(),
  even: z.string().regex(/^y/, "expected a y first").optional(),
  made: z.string().transform((_, ctx) => {
    ctx.addIssue(fault("made_wrong", "expected otherwise"));
    return z.NEVER;
  }).optional(),
});

const FIT = { text: "abc", kind: "small", list: [{ endpoint: "e" }] };

function problems(value: object): [path: string, code: string, message: string][] {
  const checked = checkShape(shape, { ...FIT, ...value });
  return checked.kind === "ok"
    ? []
    : checked.problems.map(({ path, code, message }) => [path, code, message]);
}

Deno.test("shape: what fits becomes a model with its defaults", () => {
  assert.deepEqual(checkShape(shape, FIT), {
    kind: "ok",
    model: { ...FIT, count: 1, table: { interval_ms: 1 }, names: {} },
  });
});

Deno.test("shape: each fault says what was found and what was expected", () => {
  const cases: [object, [string, string, string]][] = [
    [{ text: undefined }, ["text", "missing", "required and not there: expected text"]],
    [{ kind: undefined }, [
      "kind",
      "missing",
      'required and not there: expected "small" or "large"',
    ]],
    [{ list: undefined }, ["list", "missing", "required and not there: expected a list"]],
    [{ text: 5 }, ["text", "wrong_type", "expected text, found a number"]],
    [{ text: true }, ["text", "wrong_type", "expected text, found true"]],
    [{ text: [] }, ["text", "wrong_type", "expected text, found a list"]],
    [{ text: {} }, ["text", "wrong_type", "expected text, found a table"]],
    [{ text: new Date(0) }, ["text", "wrong_type", "expected text, found a date"]],
    [{ list: "x" }, ["list", "wrong_type", "expected a list, found text"]],
    [{ flag: "yes" }, ["flag", "wrong_type", "expected true or false, found text"]],
    [{ table: 1 }, ["table", "wrong_type", "expected a table, found a number"]],
    [{ count: 1.5 }, ["count", "wrong_type", "expected a whole number, found a number"]],
    [{ count: 2n ** 60n }, [
      "count",
      "wrong_type",
      "expected a number, found a number of more than 53 bits",
    ]],
    [{ count: 0 }, ["count", "out_of_range", "expected at least 1, found 0"]],
    [{ count: 10 }, ["count", "out_of_range", "expected at most 9, found 10"]],
    [{ text: "a" }, ["text", "out_of_range", "expected at least 2 characters, found 1"]],
    [{ text: "abcde" }, ["text", "out_of_range", "expected at most 4 characters, found 5"]],
    [{ list: [] }, ["list", "out_of_range", "expected at least 1 item, found 0"]],
    [{ kind: "smal" }, [
      "kind",
      "not_allowed",
      'expected "small" or "large", found another text; did you mean "small"?',
    ]],
    [{ kind: 3 }, ["kind", "not_allowed", 'expected "small" or "large", found 3']],
    [{ odd: "a" }, ["odd", "malformed", "does not read as /^x/"]],
    [{ even: "a" }, ["even", "malformed", "expected a y first"]],
    [{ made: "a" }, ["made", "made_wrong", "expected otherwise"]],
    [{ names: { "": { colour: "c" } } }, [
      'names.""',
      "malformed",
      "the key itself: expected at least 1 character, found 0",
    ]],
  ];
  for (const [value, expected] of cases) assert.deepEqual(problems(value), [expected]);
});

Deno.test("shape: an unknown key gets the nearest known one, at any depth", () => {
  const told = (value: object) => problems(value).map(([path, , message]) => `${path}: ${message}`);
  const unknown = "this key is not known here; ";
  assert.deepEqual(told({ txt: 1 }), [`txt: ${unknown}did you mean \`text\`? If not, remove it`]);
  assert.deepEqual(told({ zebra: 1 }), [`zebra: ${unknown}remove it or check its spelling`]);
  assert.deepEqual(told({ list: [{ endpoint: "e", endpont: "e" }] }), [
    `list[0].endpont: ${unknown}did you mean \`endpoint\`? If not, remove it`,
  ]);
  assert.deepEqual(told({ table: { interval: 1, intervalms: 1 } }), [
    `table.interval: ${unknown}remove it or check its spelling`,
    `table.intervalms: ${unknown}did you mean \`interval_ms\`? If not, remove it`,
  ]);
  assert.deepEqual(told({ names: { a: { colour: "c", color: "c" } } }), [
    `names.a.color: ${unknown}did you mean \`colour\`? If not, remove it`,
  ]);
});

Deno.test("shape: everything wrong is told at once", () => {
  const wrong = {
    text: 1,
    count: 0,
    kind: "x",
    list: [{}, {}],
    table: { interval_ms: "" },
    extra: 1,
  };
  assert.deepEqual(problems(wrong).map(([path, code]) => `${path} ${code}`), [
    "text wrong_type",
    "count out_of_range",
    "kind not_allowed",
    "list[0].endpoint missing",
    "list[1].endpoint missing",
    "table.interval_ms wrong_type",
    "extra unknown_key",
  ]);
});

Deno.test("shape: a token in the wrong place is not quoted", () => {
  const token = `anvil_${"A".repeat(43)}`;
  const told = JSON.stringify(problems({ text: token, kind: token, [token]: 1, odd: token }));
  assert.ok(!told.includes("AAAA"), told);
});

Deno.test("nearest: two slips at most, and not everything of a short word", () => {
  const known = ["tiers", "aliases", "node", "id"];
  assert.equal(nearest("tier", known), "tiers");
  assert.equal(nearest("ailases", known), "aliases");
  assert.equal(nearest("alises", known), "aliases");
  assert.equal(nearest("xx", known), null);
  assert.equal(nearest("di", known), null);
  assert.equal(nearest("something", known), null);
  assert.equal(nearest("", known), null);
});
