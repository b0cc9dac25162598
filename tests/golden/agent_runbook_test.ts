import assert from "node:assert/strict";
import { STATUSES } from "../../roles/agent/problem_document.ts";
import { filesUnder, textOf } from "../rooms/tree.ts";

const PAGE = "docs/runbooks/agent-codes.md";
/** Codes of changes have a page of their own, held to the sources by its own test. */
const CHANGE_PAGE = "docs/runbooks/change-codes.md";
const SERVES_PAGE = "docs/runbooks/serves-codes.md";
/** What the agent shares with the router is told there. */
const SHARED_PAGE = "docs/runbooks/router-codes.md";

/** Where a code stands in a source. */
const CODE_PLACES = [
  /\bcode: "([a-z0-9_]+)"/g,
  /\b(?:fault|refuse|invalid|unreadable|no|not|corrupt|withheld)\(\s*"([a-z0-9_]+)"/g,
  /^ {2}(operation_[a-z_]+|caller_left): "/gm,
  /^ {4}\| "(audit_[a-z_]+)"/gm,
  /\bwhy: "([a-z0-9_]+)"/g,
  /\bunknown\(unit, "([a-z0-9_]+)"/g,
  /^ +\? "((?:digest|program|running)_[a-z]+)"$/gm,
  /new Fault\(\s*"([a-z0-9_]+)"/g,
];

/** Sources whose codes a person can be shown, besides roles/agent and lib/operation. */
const SHARED = [
  ...["lib/core/strict_json.ts", "lib/host/body.ts", "lib/host/sqlite.ts"],
  ...["lib/host/plain_file.ts", "lib/document/grace.ts"],
];

const REMARK = /\bremarks\.(?:info|warn|error)\(\s*"([^"]+)"/g;

function matches(text: string, pattern: RegExp): string[] {
  return [...text.matchAll(pattern)].map((match) => match[1] ?? "");
}

async function sources(): Promise<string[]> {
  const paths = [...await filesUnder("roles/agent/"), ...await filesUnder("lib/operation/")];
  return paths.filter((path) => path.endsWith(".ts") && !path.endsWith("_test.ts"));
}

async function found(paths: readonly string[], patterns: readonly RegExp[]): Promise<string[]> {
  const texts = await Promise.all(paths.map(textOf));
  return [...new Set(texts.flatMap((text) => patterns.flatMap((one) => matches(text, one))))]
    .sort();
}

/** Rows of the page's tables, or headings of the shared one. */
async function told(): Promise<Set<string>> {
  return new Set([
    ...matches(await textOf(PAGE), /^\| `([a-z0-9_]+)` +\|/gm),
    ...matches(await textOf(CHANGE_PAGE), /^\| `([a-z0-9_]+)` +\|/gm),
    ...matches(await textOf(SERVES_PAGE), /^\| `([a-z0-9_]+)` +\|/gm),
    ...matches(await textOf(SHARED_PAGE), /^### `([^`]+)`$/gm),
  ]);
}

Deno.test("the agent's runbook has a row for every code with a status, and for every other", async () => {
  const codes = await found([...await sources(), ...SHARED], CODE_PLACES);
  for (const one of ["wrong_node", "key_conflict", "audit_chain_broken", "json_too_deep"]) {
    assert.ok(codes.includes(one), `${one} was not found in the sources`);
  }
  const known = await told();
  const wanted = [...new Set([...codes, ...Object.keys(STATUSES)])];
  assert.deepEqual(wanted.filter((code) => !known.has(code)), []);
});

Deno.test("the agent's runbook tells the status of each code as it is", async () => {
  const rows = (await textOf(PAGE)).matchAll(/^\| `([a-z0-9_]+)` +\| (\d{3}) /gm);
  const seen = new Map([...rows].map(([, code = "", status]) => [code, Number(status)]));
  for (const [code, status] of Object.entries(STATUSES)) {
    assert.equal(seen.get(code), status, code);
  }
  for (const code of seen.keys()) assert.ok(Object.hasOwn(STATUSES, code), `${code} has no status`);
});

Deno.test("the agent's runbook has every line of its log, and no other", async () => {
  const remarks = await found([...await sources(), "lib/credential/roster_file.ts"], [REMARK]);
  const log = (await textOf(PAGE)).split("\n## Log lines")[1] ?? "";
  assert.ok(remarks.length >= 10, "the remarks were not found");
  assert.deepEqual(matches(log, /^\| `([^`]+)` +\|/gm).sort(), remarks);
});
