import assert from "node:assert/strict";
import { filesUnder, textOf } from "../rooms/tree.ts";

const PAGE = "docs/runbooks/change-codes.md";

/** Sources whose codes a change can show. */
const OPERATIONS = ["change", "mode", "promotion", "router", "router_config"]
  .map((name) => `roles/agent/operations/${name}.ts`);

/** Where a code stands in a source. */
const CODE_PLACES = [
  /\b(?:refuse|no|failure|failed\(refuse)\(\s*"([a-z0-9_]+)"/g,
  /\bcode: "([a-z0-9_]+)"/g,
  /^ {4}\| "([a-z_]+)"/gm,
];

const REMARK = /\bremarks\.(?:info|warn|error)\(\s*"([^"]+)"/g;

async function sources(): Promise<string[]> {
  const machines = (await filesUnder("lib/serves/machines/"))
    .filter((path) => path.endsWith(".ts") && !path.endsWith("_test.ts"));
  return await Promise.all([...machines, ...OPERATIONS].map(textOf));
}

function matches(text: string, pattern: RegExp): string[] {
  return [...text.matchAll(pattern)].map((match) => match[1] ?? "");
}

Deno.test("the runbook of changes has a row for every code, once, and for no other", async () => {
  const texts = await sources();
  const codes = new Set(texts.flatMap((text) => CODE_PLACES.flatMap((one) => matches(text, one))));
  for (const one of ["plan_stale", "manual_recovery", "router_draining", "change_cancelled"]) {
    assert.ok(codes.has(one), `${one} was not found in the sources`);
  }
  const rows = matches(await textOf(PAGE), /^\| `([a-z0-9_]+)` +\|/gm);
  assert.deepEqual(rows.toSorted(), [...new Set(rows)].toSorted());
  assert.deepEqual([...codes].filter((code) => !rows.includes(code)), []);
  const all = texts.join("\n");
  assert.deepEqual(rows.filter((code) => !all.includes(`"${code}"`)), []);
});

Deno.test("the runbook of changes has every line of their log, and no other", async () => {
  const texts = await sources();
  const remarks = [...new Set(texts.flatMap((text) => matches(text, REMARK)))].toSorted();
  const log = (await textOf(PAGE)).split("\n## Log lines")[1] ?? "";
  assert.ok(remarks.length >= 6, "the remarks were not found");
  assert.deepEqual(matches(log, /^\| `([^`]+)` +\|/gm).toSorted(), remarks);
});
