import assert from "node:assert/strict";
import { PARITY_REASONS } from "../../lib/evidence/parity_shape.ts";
import { filesUnder, textOf } from "../rooms/tree.ts";

const PAGE = "docs/runbooks/evidence-codes.md";

/** Where a code stands in a source. */
const CODE_PLACES = [
  /\b(?:refuse|no|bad|say)\(\s*"([a-z0-9_]+)"/g,
  /\bfell\(\s*[a-z.]+, "[a-z_]+", "([a-z0-9_]+)"/g,
  /\b(?:code|state): "([a-z0-9_]+)"/g,
  /\?\? "([a-z]+_[a-z0-9_]+)"/g,
];

/** What stands in such a place and is told elsewhere: of the command line, or no code. */
const ELSEWHERE = ["file_absent", "sound"];

async function sources(): Promise<readonly string[]> {
  const paths = [
    ...await filesUnder("lib/evidence/"),
    ...await filesUnder("roles/operator/evidence/"),
    ...(await filesUnder("roles/operator/commands/")).filter((path) => /evidence/.test(path)),
  ].filter((path) => path.endsWith(".ts") && !path.endsWith("_test.ts"));
  assert.ok(paths.length > 20, "the sources were not found");
  return await Promise.all(paths.map(textOf));
}

function matches(text: string, pattern: RegExp): string[] {
  return [...text.matchAll(pattern)].map((match) => match[1] ?? "");
}

Deno.test("the runbook of evidence has a row for every code, once, and for no other", async () => {
  const texts = await sources();
  const codes = new Set([
    ...texts.flatMap((text) => CODE_PLACES.flatMap((place) => matches(text, place))),
    ...PARITY_REASONS,
  ]);
  for (const code of ELSEWHERE) codes.delete(code);
  // One per place: the patterns still fit the sources.
  for (
    const one of ["conditions_missing", "handover_malformed", "record_twice", "evidence_damaged"]
  ) assert.ok(codes.has(one), `${one} was not found in the sources`);
  const rows = matches(await textOf(PAGE), /^\| `([a-z0-9_]+)` +\|/gm);
  assert.deepEqual(rows.toSorted(), [...new Set(rows)].toSorted());
  assert.deepEqual([...codes].filter((code) => !rows.includes(code)).toSorted(), []);
  assert.deepEqual(rows.filter((row) => !codes.has(row)), []);
});
