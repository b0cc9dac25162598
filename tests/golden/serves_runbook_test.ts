import assert from "node:assert/strict";
import { HOST_CODES } from "../../lib/serves/host_rules.ts";
import { MANIFEST_RULES } from "../../lib/serves/manifest_rules.ts";
import { TIER_CODES } from "../../lib/serves/tier_view.ts";
import { filesUnder, textOf } from "../rooms/tree.ts";

const PAGE = "docs/runbooks/serves-codes.md";

/** Told with every other TOML file. */
const OF_SHAPES = ["missing", "not_allowed", "malformed"];

/** Where a code stands in a source. */
const CODE_PLACES = [
  /\b(?:refuse|invalid|failed|unfit|said)\(\s*(?:parts, )?"([a-z]+_[a-z0-9_]+)"/g,
  /\bcode: "([a-z]+_[a-z0-9_]+)"/g,
  /^ {2}\| "([a-z]+_[a-z0-9_]+)"/gm,
  /^ {2}(?:readonly )?kind: "unknown", code: "([a-z_]+)"/gm,
  /readonly code: ("runtime_[a-z_" |]+)/g,
];

function matches(text: string, pattern: RegExp): string[] {
  return [...text.matchAll(pattern)].flatMap((match) =>
    [...(match[1] ?? "").matchAll(/[a-z0-9_]+/g)].map(([word]) => word)
  );
}

Deno.test("the runbook of serves has a row for every code, once, and for no other", async () => {
  const paths = [
    ...(await filesUnder("lib/serves/")).filter((path) => !path.includes("/machines/")),
    ...[
      "operations/serves",
      "operations/serves_acted",
      "serves_host",
      "host_serves",
      "commands/unit",
    ]
      .map((name) => `roles/agent/${name}.ts`),
  ].filter((path) => path.endsWith(".ts") && !path.endsWith("_test.ts"));
  const texts = await Promise.all(paths.map(textOf));
  const codes = new Set([
    ...texts.flatMap((text) => CODE_PLACES.flatMap((one) => matches(text, one))),
    ...MANIFEST_RULES.flatMap((rule) => rule.codes),
    ...HOST_CODES,
    ...TIER_CODES,
  ]);
  for (const one of ["image_absent", "over_budget", "serve_died", "runtime_silent"]) {
    assert.ok(codes.has(one), `${one} was not found in the sources`);
  }
  const elsewhere = [...OF_SHAPES, "file_unreadable"];
  const rows = [...(await textOf(PAGE)).matchAll(/^\| `([a-z0-9_]+)` +\|/gm)]
    .map(([, code = ""]) => code);
  assert.deepEqual(rows.toSorted(), [...new Set(rows)].toSorted());
  const untold = [...codes].filter((code) => !rows.includes(code) && !elsewhere.includes(code));
  assert.deepEqual(untold, []);
  const all = [...texts, await textOf("roles/agent/config.ts")].join("\n");
  assert.deepEqual(rows.filter((code) => !all.includes(`"${code}"`)), []);
});
