import assert from "node:assert/strict";
import { markdownTable, plainTable, transpose } from "./table.ts";

const rows = [["what", "nginx", "router"], ["p50 us", "9", "12345678"]];

Deno.test("a plain table aligns text left and numbers right", () => {
  assert.equal(
    plainTable(rows),
    "what    nginx    router\np50 us      9  12345678",
  );
});

Deno.test("a Markdown table keeps a bar inside its cell", () => {
  const text = markdownTable([["a|b", "n"], ["x", "1"]]);
  assert.equal(text, "| a\\|b | n   |\n| ---- | --: |\n| x    | 1   |");
});

Deno.test("transposing turns columns to rows, short ones filled", () => {
  assert.deepEqual(transpose([["a", "b"], ["1"]]), [["a", "1"], ["b", ""]]);
  assert.deepEqual(transpose([]), []);
});
