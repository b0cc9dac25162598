import assert from "node:assert/strict";
import { problemLines } from "./problems.ts";
import { table } from "./table.ts";

Deno.test("table: columns as wide as their widest cell, no trailing blanks", () => {
  assert.equal(
    table(["tier", "members"], [["a", "1"], ["primary", "16"], ["", ""]]),
    "TIER     MEMBERS\na        1\nprimary  16\n\n",
  );
  assert.equal(table(["tier", "x"], []), "TIER  X\n");
  assert.equal(table(["a", "b"], [["1"]]), "A  B\n1\n");
});

Deno.test("table: wide letters take two columns, marks none", () => {
  assert.equal(
    table(["n", "x"], [["模型", "1"], ["e\u0301a", "2"], ["😀", "3"], ["ab", "4"]]),
    "N     X\n模型  1\ne\u0301a    2\n😀    3\nab    4\n",
  );
});

Deno.test("table: an ellipsis takes one column, as any plain letter does", () => {
  assert.equal(table(["n", "x"], [["ab…", "1"], ["模…", "2"]]), "N    X\nab…  1\n模…  2\n");
});

Deno.test("table: more rows than a call has room for arguments", () => {
  const rows = Array.from({ length: 200_000 }, () => ["a"]);
  assert.equal(table(["n"], rows).length, 2 * (1 + rows.length));
});

Deno.test("table: a cell does not steer the terminal", () => {
  assert.equal(table(["n"], [["a\x1b[31m\nb\x9b"]]), "N\na\ufffd[31m\ufffdb\ufffd\n");
});

Deno.test("problem lines: one each, then how many, painted only when asked", () => {
  const problem = { path: "node", code: "missing", message: "required" };
  assert.equal(problemLines("f", [problem], false), "f: node: missing: required\n1 problem\n");
  assert.equal(
    problemLines("f", [{ ...problem, line: 2 }], true),
    "f:2: \x1b[1mnode\x1b[0m: \x1b[31mmissing\x1b[0m: required\n1 problem\n",
  );
});
