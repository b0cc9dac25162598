import assert from "node:assert/strict";
import { FAILURES } from "../../lib/relay/failure.ts";
import { RUNBOOK } from "../../scripts/reference.ts";
import { filesUnder, textOf } from "../rooms/tree.ts";

/** Where a code stands in a source of the router's commands, its files or the ports they use. */
const CODE_PLACES = [
  /\bcode: "([a-z0-9_]+)"/g,
  /\b(?:fault|refuse|invalid|unreadable)\(\s*"([a-z0-9_]+)"/g,
  /\breport\(\s*\[[^\]]*\],\s*"([a-z0-9_]+)"/g,
];

/** What stands in such a place and is shown to nobody. */
const NOT_CODES = ["aborted", "custom", "code"];

/** Sources whose codes a person can be shown, besides roles/router. */
const SHARED = [
  "lib/credential/clients.ts",
  "lib/credential/roster_file.ts",
  "lib/credential/tokens_command.ts",
  "lib/document/shape.ts",
  "lib/document/toml.ts",
  "lib/host/files.ts",
  "lib/host/lock.ts",
  "lib/host/listen_refusal.ts",
];

/** Where a line of the log stands: `remarks.warn("..."` or the `said(` that is one of them. */
const REMARK = /\b(?:remarks\.(?:info|warn|error)|said)\(\s*"([^"]+)"/g;

function matches(text: string, pattern: RegExp): string[] {
  return [...text.matchAll(pattern)].map((match) => match[1] ?? "");
}

async function routerSources(): Promise<string[]> {
  const paths = await filesUnder("roles/router/");
  return paths.filter((path) => path.endsWith(".ts") && !path.endsWith("_test.ts"));
}

async function found(paths: readonly string[], patterns: readonly RegExp[]): Promise<string[]> {
  const texts = await Promise.all(paths.map(textOf));
  return [...new Set(texts.flatMap((text) => patterns.flatMap((one) => matches(text, one))))];
}

async function headings(): Promise<string[]> {
  return matches(await Deno.readTextFile(RUNBOOK), /^### `([^`]+)`$/gm);
}

Deno.test("the runbook has an entry for every failure code and every outcome", async () => {
  const known = new Set(await headings());
  const union = /export type Outcome =([\s\S]*?);\s*(?:\/\/.*)?\n\n/
    .exec(await textOf("lib/relay/failure.ts"))?.[1] ?? "";
  const outcomes = matches(union, /\| "(\w+)"/g);
  assert.ok(outcomes.length > 10, "the outcomes were not found");
  const ofCodes = new Set<string>(Object.values(FAILURES).map((failure) => failure.outcome));
  const wanted = [...Object.keys(FAILURES), ...outcomes.filter((one) => !ofCodes.has(one))];
  assert.deepEqual(wanted.filter((code) => !known.has(code)), []);
});

Deno.test("the runbook has an entry for every problem and refusal the router prints", async () => {
  const sources = [...await routerSources(), ...SHARED];
  const codes = (await found(sources, CODE_PLACES)).filter((one) => !NOT_CODES.includes(one));
  // One per place a code can stand in: the patterns still fit the sources.
  for (const one of ["alias_to_nowhere", "member_off_host", "file_absent", "port_in_use"]) {
    assert.ok(codes.includes(one), `${one} was not found in the sources`);
  }
  const known = new Set(await headings());
  assert.deepEqual(codes.filter((code) => !known.has(code)), []);
});

Deno.test("the runbook has an entry for every line of the router's log, and for no other", async () => {
  const remarks = await found([...await routerSources(), ...SHARED], [REMARK]);
  const log = (await Deno.readTextFile(RUNBOOK)).split("\n## Log lines")[1] ?? "";
  assert.ok(remarks.length >= 10, "the remarks were not found");
  assert.deepEqual(matches(log, /^### `([^`]+)`$/gm).sort(), remarks.sort());
});

Deno.test("an entry says what is seen, what it means and what to do; each once", async () => {
  const entries = (await Deno.readTextFile(RUNBOOK)).split(/^### /m).slice(1);
  for (const entry of entries) {
    const parts = matches(entry.split("\n## ")[0] ?? "", /^- \*\*([^*]+)\*\*: /gm);
    assert.deepEqual(parts, ["You see", "It means", "Do"], entry.split("\n")[0]);
  }
  const all = await headings();
  assert.equal(all.length, entries.length, "a heading is not a code in backticks");
  assert.deepEqual(all, [...new Set(all)], "two entries have one heading");
});
