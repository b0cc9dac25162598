import assert from "node:assert/strict";
import fc from "fast-check";
import { readToml, TEXT_BOUNDS } from "./toml.ts";

function problem(text: string, bounds = TEXT_BOUNDS) {
  const read = readToml(text, bounds);
  assert.equal(read.kind, "invalid", text);
  const [first, ...rest] = read.kind === "invalid" ? read.problems : [];
  assert.deepEqual(rest, []);
  return first;
}

Deno.test("TOML: a syntax error has its line and column", () => {
  const cases: [string, number, number, string][] = [
    ["a = 1\nb = ?", 2, 5, "not TOML: invalid value"],
    ["a = 1\n\na = 2", 3, 1, "not TOML: trying to redefine an already defined table or value"],
    ['a = "b', 1, 5, "not TOML: unfinished string"],
    ["[t\n", 1, 3, "not TOML: illegal character in key"],
  ];
  for (const [text, line, column, message] of cases) {
    assert.deepEqual(problem(text), { path: "$", code: "syntax", message, line, column });
  }
});

Deno.test("TOML: an error quotes nothing of the text", () => {
  const canary = "CANARY0123456789";
  for (
    const text of [
      `a = ${canary}`,
      `a = "${canary}`,
      `a = 0${canary}`,
      `${canary} ${canary} = 1`,
      `${canary} = 1\n${canary} = 2`,
      `[${canary}]\n[${canary}]`,
      `a = [${canary}`,
      `a = {${canary} 1}`,
      `a = 2026-01-01T${canary}`,
      `a = "\\q${canary}"`,
    ]
  ) assert.ok(!JSON.stringify(problem(text)).includes(canary), text);
});

Deno.test("TOML: bounded in size, depth and nodes", () => {
  const bounds = { characters: 60, depth: 3, nodes: 5 };
  assert.equal(readToml("a.b.c = 1", bounds).kind, "ok");
  assert.deepEqual(problem("a.b.c.d.e = 1", bounds), {
    path: "a.b.c.d",
    code: "text_too_deep",
    message: "nested deeper than 3",
  });
  assert.equal(readToml("a = [1, 2, 3, 4]", bounds).kind, "ok");
  assert.deepEqual(problem("a = [1, 2, 3, 4, 5]", bounds), {
    path: "$",
    code: "text_too_many_nodes",
    message: "more than 5 keys and items",
  });
  assert.equal(problem(`#${"x".repeat(60)}`, bounds)?.code, "text_too_large");
});

Deno.test("TOML: nesting that would overflow a stack is a problem, not a crash", () => {
  for (const text of [`a = ${"[".repeat(100_000)}`, `a = ${"[".repeat(5000)}${"]".repeat(5000)}`]) {
    assert.equal(readToml(text).kind, "invalid");
  }
  assert.equal(readToml(`${"a.".repeat(50_000)}a = 1`).kind, "invalid");
});

Deno.test("TOML: never throws", () => {
  const bits = fc.constantFrom(..."[]{}=.,\"'#\n\\ 0a-:T", '"""', "'''", "[[", "__proto__");
  fc.assert(
    fc.property(fc.array(bits).map((list) => list.join("")), (text) => {
      const read = readToml(text);
      assert.ok(read.kind === "ok" || read.problems.length > 0);
    }),
    { numRuns: 300 },
  );
});
