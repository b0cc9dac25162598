import assert from "node:assert/strict";
import { CODES } from "../../lib/bootstrap/codes.ts";
import { targetShape } from "../../roles/receiver/target.ts";
import { filesUnder, textOf } from "../rooms/tree.ts";

const PAGE = "docs/runbooks/bundle-codes.md";

function matches(text: string, pattern: RegExp): string[] {
  return [...text.matchAll(pattern)].map((match) => match[1] ?? "");
}

Deno.test("the bundles' runbook has a row for every code, and for no other", async () => {
  const union = /^ {2}\| "([a-z0-9_]+)"/gm;
  const ports = matches(await textOf("lib/generation/ports.ts"), union);
  const owned = matches(await textOf("lib/core/owned_file.ts"), union);
  assert.ok(ports.length > 30 && owned.length === 8, "the unions were not found");
  const rows = matches(await textOf(PAGE), /^\| `([a-z0-9_]+)` +\|/gm);
  assert.deepEqual([...rows].sort(), [...ports, ...owned, ...CODES].sort());
});

Deno.test("the bundles' room refuses with the codes of its union, and with each of them", async () => {
  const paths = (await filesUnder("lib/generation/"))
    .filter((path) => path.endsWith(".ts") && !path.endsWith("_test.ts"));
  const used = new Set<string>();
  for (const path of paths) {
    const text = await textOf(path);
    for (const code of matches(text, /generationRefusal\(\s*"([a-z0-9_]+)"/g)) used.add(code);
    for (const code of matches(text, /\? "(store_[a-z_]+)"/g)) used.add(code);
    for (const code of matches(text, /: "(store_[a-z_]+)"/g)) used.add(code);
  }
  const union = matches(await textOf("lib/generation/ports.ts"), /^ {2}\| "([a-z0-9_]+)"/gm);
  assert.deepEqual([...used].sort(), [...union].sort());
});

Deno.test("the receiver's reference has a row for every key of its configuration", async () => {
  const page = await textOf("docs/reference/receiver.md");
  const keys = Object.keys(targetShape.shape).filter((key) => key !== "limits");
  const limits = ["bundle_bytes", "stage_seconds", "restart_seconds"].map((key) => `limits.${key}`);
  const section = page.split("## `receiver.toml`")[1]?.split("\n## ")[0] ?? "";
  assert.deepEqual(matches(section, /^\| `([a-z_.]+)` +\|/gm).sort(), [...keys, ...limits].sort());
});
