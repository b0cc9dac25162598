import assert from "node:assert/strict";
import { configRows, nextSteps, PAGE, rendered, RUNBOOK } from "../../scripts/reference.ts";
import { textOf } from "../rooms/tree.ts";

Deno.test("the tables of the router's reference are what the code says", async () => {
  const page = await Deno.readTextFile(PAGE);
  const wanted = rendered(page, await Deno.readTextFile(RUNBOOK));
  assert.equal(page, wanted, "run scripts/reference.ts");
});

Deno.test("the reference names every field of a decision, and no other", async () => {
  const source = await textOf("roles/router/decision.ts");
  const fields = [...source.matchAll(/^ {2}readonly (\w+):/gm)].map(([, name]) => name);
  const section = (await Deno.readTextFile(PAGE)).split("## Decision record")[1] ?? "";
  const told = [...(section.split("\n## ")[0] ?? "").matchAll(/^\| `(\w+)`/gm)];
  assert.ok(fields.length > 10);
  assert.deepEqual(told.map(([, name]) => name), fields);
});

Deno.test("the reference names every path of the admin listener, and no other", async () => {
  const source = await textOf("roles/router/admin.ts");
  const paths = [...source.matchAll(/^ {2}\["(\/[^"]+)", \{/gm)].map(([, path]) => path);
  const section = (await Deno.readTextFile(PAGE)).split("## Admin listener")[1] ?? "";
  const told = (section.split("\n## ")[0] ?? "").matchAll(/^\| `(?:GET|POST) ([^`]+)`/gm);
  assert.ok(paths.length >= 4);
  assert.deepEqual([...told].map(([, path]) => path), paths);
});

Deno.test("a key without a meaning, and a meaning without a key, are noticed", () => {
  const described = { type: "string", description: "It is there." };
  const schema = { properties: { a: described, b: { type: "string" } }, required: ["a"] };
  assert.deepEqual(configRows(schema, { b: "It may be there." }), [
    { path: "a", fallback: "required", values: "text", meaning: "It is there." },
    { path: "b", fallback: "none", values: "text", meaning: "It may be there." },
  ]);
  assert.throws(() => configRows(schema, {}), /b has no meaning/);
  assert.throws(() => configRows(schema, { b: "Once.", c: "Gone." }), /explains c/);
});

Deno.test("next steps are read across lines, one per heading", () => {
  const runbook =
    "### `one`\n\n- **You see**: x.\n- **Do**: a\n  b.\n\n### `two`\n\n- **Do**: c.\n";
  assert.deepEqual([...nextSteps(runbook)], [["one", "a b."], ["two", "c."]]);
});
