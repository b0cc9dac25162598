import assert from "node:assert/strict";
import { filesUnder, textOf } from "../rooms/tree.ts";

const PUBLISHER = "docs/runbooks/publisher-codes.md";
const CANDIDATE = "docs/runbooks/candidate-codes.md";

/** Where a code stands in a source of the publisher. */
const CODE_PLACES = [
  /\bcode: "([a-z0-9_]+)"/g,
  /\b(?:fault|refuse|no|unreadable)\(\s*"([a-z0-9_-]+)"/g,
];

/** A member of a union of codes. */
const MEMBER = /^ {2}\| "([a-z0-9_-]+)"/gm;

/** Sources whose unions are what a candidate, a trust file or a transfer can be refused for. */
const CANDIDATE_SOURCES = [
  "lib/adoption/envelope.ts",
  "lib/adoption/keys.ts",
  "lib/core/download.ts",
];

const REMARK = /\bremarks\.(?:info|warn|error)\(\s*"([^"]+)"/g;

function matches(text: string, pattern: RegExp): string[] {
  return [...text.matchAll(pattern)].map((match) => match[1] ?? "");
}

async function found(paths: readonly string[], patterns: readonly RegExp[]): Promise<string[]> {
  const texts = await Promise.all(paths.map(textOf));
  return [...new Set(texts.flatMap((text) => patterns.flatMap((one) => matches(text, one))))]
    .sort();
}

async function sources(): Promise<string[]> {
  const paths = await filesUnder("roles/publisher/");
  return paths.filter((path) => path.endsWith(".ts") && !path.endsWith("_test.ts"));
}

async function rows(page: string): Promise<string[]> {
  return matches(await textOf(page), /^\| `([a-z0-9_-]+)` +\|/gm);
}

Deno.test("the publisher's runbook has a row for every code of its own", async () => {
  const codes = await found(await sources(), CODE_PLACES);
  for (const one of ["rev_differs", "cache_unsigned", "build_timeout", "sequence_damaged"]) {
    assert.ok(codes.includes(one), `${one} was not found in the sources`);
  }
  const shared = matches(await textOf("docs/runbooks/router-codes.md"), /^### `([^`]+)`$/gm);
  const known = new Set([...await rows(PUBLISHER), ...shared]);
  assert.deepEqual(codes.filter((code) => !known.has(code)), []);
  const bundle = await found(["lib/generation/ports.ts"], [MEMBER]);
  const own = new Set([...codes, ...bundle]);
  assert.deepEqual((await rows(PUBLISHER)).filter((code) => !own.has(code)), []);
});

Deno.test("the runbook of candidates has a row for every refusal, and no other", async () => {
  const codes = await found(CANDIDATE_SOURCES, [MEMBER, /refuse\(\s*"([a-z0-9_-]+)"/g]);
  assert.ok(codes.includes("replayed") && codes.includes("no-candidate"));
  assert.deepEqual((await rows(CANDIDATE)).sort(), codes);
});

Deno.test("the publisher's runbook has every line of its log, and no other", async () => {
  const remarks = await found(await sources(), [REMARK]);
  const log = (await textOf(PUBLISHER)).split("\n## Log lines")[1] ?? "";
  assert.ok(remarks.length >= 5, "the remarks were not found");
  assert.deepEqual(matches(log, /^\| `([^`]+)` +\|/gm).sort(), remarks);
});

Deno.test("the publisher's reference names every key of its configuration", async () => {
  const page = await textOf("docs/reference/publisher.md");
  const schema = JSON.parse(await textOf("fleet/schemas/publisher.schema.json"));
  const keys: string[] = [];
  const visit = (object: { readonly properties?: Record<string, never> }, prefix: string) => {
    for (const [key, part] of Object.entries(object.properties ?? {}) as [string, never][]) {
      const { properties, items } = part as { properties?: never; items?: { properties?: never } };
      if (properties !== undefined) visit(part, `${prefix}${key}.`);
      else if (items?.properties !== undefined) visit(items, `${prefix}${key}[].`);
      else keys.push(`${prefix}${key}`);
    }
  };
  visit(schema, "");
  assert.ok(keys.includes("hosts[].build") && keys.includes("nix.cache"));
  const named = (section: string, pattern: RegExp) =>
    matches((page.split(`\n## ${section}\n`)[1] ?? "").split("\n## ")[0] ?? "", pattern).sort();
  assert.deepEqual(named("publisher.toml", /^\| `([a-z_.[\]]+)` +\|/gm), keys.sort());
  const payload = JSON.parse(await textOf("fleet/schemas/candidate.schema.json"));
  const rows = (page.split("\n## Envelope\n")[1] ?? "").split("\n").filter((line) =>
    line.startsWith("| `")
  ).flatMap((line) => matches(line.split("|")[1] ?? "", /`([a-z_]+)`/g));
  assert.deepEqual(
    rows.filter((row) => Object.hasOwn(payload.properties, row)).sort(),
    Object.keys(payload.properties).sort(),
  );
});
