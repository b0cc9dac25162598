import assert from "node:assert/strict";
import { filesUnder, textOf } from "../rooms/tree.ts";

const PAGE = "docs/runbooks/adopter-codes.md";
/** Pages that tell the rest. */
const OTHERS = [
  "docs/runbooks/candidate-codes.md",
  "docs/runbooks/publisher-codes.md",
  "docs/runbooks/router-codes.md",
];

/** Where a code stands in a source: a field, or the first or second word of a maker of values. */
const MAKERS = "fault|refuse|no|nothing|unreadable|observed|seen|fine|refusedBy|needsPerson|" +
  "stageFault|said|none|rule|fail";
const CODE_PLACES = [
  /\bcode: "([a-z0-9_-]+)"/g,
  new RegExp(
    `\\b(?:${MAKERS})\\(\\s*(?:(?:adopter|this),\\s*|"[a-z-]+",\\s*)?"([a-z0-9_-]+)"`,
    "g",
  ),
  /^ {2}\[.*, "(?:integrity|environment)", "([a-z_]+)"\],$/gm,
  /^ {2}\| "([a-z0-9_]+)"[ ;]/gm,
  /\bcode = "([a-z0-9_]+)"/g,
  /\bcode: [^"\n]*\? "([a-z_]+)"/g,
  /\bcode: [^"\n]*\? "[a-z_]+" : "([a-z_]+)"/g,
  /\? "(would_[a-z]+)" : "would_/g,
  /: "(would_[a-z]+)"/g,
];

/** What stands where codes stand and is none: states, units, phases. */
const NO_CODES = new Set([
  ...["unknown", "activate", "stage", "pass", "fail", "clear", "rule", "code"],
  ...["baseline", "inspect", "probe", "commit", "revert", "probe_reverted", "ended"],
]);

const REMARK = /\bremarks\.(?:info|warn|error)\(\s*"([^"]+)"/g;

function matches(text: string, pattern: RegExp): string[] {
  return [...text.matchAll(pattern)].map((match) => match[1] ?? "");
}

async function sources(): Promise<string[]> {
  const paths = [...await filesUnder("roles/adopter/"), ...await filesUnder("lib/adoption/")];
  return paths.filter((path) =>
    path.endsWith(".ts") && !path.endsWith("_test.ts") &&
    !/lib\/adoption\/(envelope|keys|publication)/.test(path)
  );
}

async function found(patterns: readonly RegExp[]): Promise<string[]> {
  const texts = await Promise.all((await sources()).map(textOf));
  return [...new Set(texts.flatMap((text) => patterns.flatMap((one) => matches(text, one))))]
    .filter((code) => !NO_CODES.has(code)).sort();
}

async function codes(page: string): Promise<string[]> {
  const text = (await textOf(page)).split("\n## Log lines")[0] ?? "";
  return [...matches(text, /^\| `([a-z0-9_-]+)` +\|/gm), ...matches(text, /^### `([^`]+)`$/gm)];
}

Deno.test("the adopter's runbook has a row for every code, and no other", async () => {
  const inSources = await found(CODE_PLACES);
  const one = [
    "cache_untrusted",
    "probe_flapping",
    "manual_recovery",
    "would_adopt",
    "why_missing",
  ];
  for (const code of one) assert.ok(inSources.includes(code), `${code} was not found`);
  const own = await codes(PAGE);
  assert.equal(new Set(own).size, own.length, "a code has two rows");
  const known = new Set([...own, ...(await Promise.all(OTHERS.map(codes))).flat()]);
  assert.deepEqual(inSources.filter((code) => !known.has(code)), []);
  assert.deepEqual(own.filter((code) => !inSources.includes(code)), []);
});

Deno.test("the adopter's runbook has every line of its log, and no other", async () => {
  const remarks = await found([REMARK]);
  const log = (await textOf(PAGE)).split("\n## Log lines")[1] ?? "";
  assert.ok(remarks.length >= 7, "the remarks were not found");
  assert.deepEqual(matches(log, /^\| `([^`]+)` +\|/gm).sort(), remarks);
});
