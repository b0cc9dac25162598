/**
 * One net over the whole tree, under the finer ones of each role: a code that stands in a source is
 * in a runbook, or here with the reason why nobody is ever shown it.
 *
 * @module
 */

import assert from "node:assert/strict";
import { filesUnder, textOf } from "../rooms/tree.ts";

/** Where codes stand in a source. A code is lower case with underscores. */
const PLACES = [
  /\bcode: "([a-z][a-z0-9_]*)"(?!\s*\|| in\b)/g,
  /^ {2}([a-z][a-z0-9]*_[a-z0-9_]+): (?:row|"|\{|told)/gm, // a table with a code per row
  /\b[a-zA-Z]+\((?:\[[^\]]*\], )?\s*"([a-z][a-z0-9]*_[a-z0-9_]+)"/g, // refuse("…"), and its kin
  /\bnew (?:Fault|Refused)\(\s*"([a-z][a-z0-9_]*)"/g,
];

/** Unions of codes: `readonly code: "a" | "b"` and `Refusal<"a" | "b">`. */
const UNIONS = [
  /\bcode:((?:\s*\|?\s*"[a-z][a-z0-9_]*")+)(?! in\b)/g,
  /\bRefusal<((?:\s*\|?\s*"[a-z][a-z0-9_]*")+)/g,
  /\bcodes: \[((?:\s*"[a-z][a-z0-9_]*",?)+)/g, // a rule and what it may say
];

/** Codes that stay inside: whoever receives one turns it into another. */
const STAYS_INSIDE: Readonly<Record<string, string>> = {
  aborted: "whoever aborts knows why and says that",
  append_file_unavailable: "the one who opens the file says which file, with a code of its own",
  certificate_unseen: "doctor says that it is unknown when the certificate ends",
  space_unknown: "doctor says that it is unknown how much space is left",
  body_failed: "the request's own body broke: told as the client's end or as interrupted",
  closed_before_head: "told as upstream_closed, or as a broken answer by dispatch",
  connect_local: "told as connect_impossible",
  connect_refused: "told as connection_refused",
  connect_tls: "told as tls_refused",
  connect_unreachable: "told as upstream_unreachable, or as unreachable by dispatch",
  malformed_head: "told as upstream_malformed, or as a broken answer by dispatch",
  too_large: "told as answer_too_large",
};

/** Words that stand where codes stand and are none. */
const NO_CODES: ReadonlySet<string> = new Set([
  ...["custom", "model_path", "message_stop", "first_byte", "in_flight", "ready_members"],
  ...["prompt_tokens", "input_tokens", "completion_tokens", "output_tokens", "unified_mib"],
  ...["topology_fingerprint", "expected_node", "operation_id", "waiting_for_host"], // fields, a step
  ...["model_free", "reserved_for_other"], // reasons, told in a sentence
  "rollback_started", // a phase
  // Checks of doctor, whose guide has a row for each.
  ...["live_set", "live_paths", "secret_files", "known_host", "disk_space", "token_ends"],
  ...["target_lost", "other"], // how a benchmark ended; the count of what is not named
  ...["compared_share_min", "exact_share_min", "similarity_min", "logprob_mean_max"], // thresholds
  ...["decisive_nats", "decisive_share_max", "refusals_share_max"],
]);

/** Names of metrics begin so. */
const METRIC = /^(?:anvil_router_|process_)/;

function all(text: string, pattern: RegExp): string[] {
  return [...text.matchAll(pattern)].map((match) => match[1] ?? "");
}

function codesIn(text: string): string[] {
  const code = text.replace(/^\s*(?:\*|\/\/).*$/gm, "");
  const single = PLACES.flatMap((place) => all(code, place));
  const unions = UNIONS.flatMap((place) => all(code, place)).flatMap((union) =>
    all(union, /"([a-z0-9_]+)"/g)
  );
  return [...single, ...unions];
}

/** Code -> the first source it stands in. */
async function inSources(): Promise<Map<string, string>> {
  const found = new Map<string, string>();
  for (const folder of ["lib/", "roles/"]) {
    for (const path of await filesUnder(folder)) {
      if (!path.endsWith(".ts") || path.endsWith("_test.ts")) continue;
      if (path.startsWith("lib/testing/")) continue;
      for (const code of codesIn(await textOf(path))) {
        if (!found.has(code)) found.set(code, path);
      }
    }
  }
  return found;
}

/** Codes with an entry: a heading of their own, or the first cell of a row. */
async function inRunbooks(): Promise<Set<string>> {
  const told = new Set<string>();
  for (const path of await filesUnder("docs/runbooks/")) {
    const text = await textOf(path);
    for (const code of all(text, /^### `([a-z0-9_]+)`/gm)) told.add(code);
    for (const cell of all(text, /^\| ([^|]+)\|/gm)) {
      for (const code of all(cell, /`([a-z0-9_]+)`/g)) told.add(code);
    }
  }
  return told;
}

Deno.test("every code in the sources is in a runbook, or stays inside for a reason", async () => {
  const sources = await inSources();
  const told = await inRunbooks();
  assert.ok(
    sources.size > 450,
    `only ${sources.size} codes were found: the patterns are out of date`,
  );
  const untold = [...sources].filter(([code]) =>
    !told.has(code) && !Object.hasOwn(STAYS_INSIDE, code) && !NO_CODES.has(code) &&
    !METRIC.test(code)
  );
  assert.deepEqual(untold.map(([code, path]) => `${code} (${path})`), []);
});

Deno.test("what is said to stay inside still exists, and is in no runbook", async () => {
  const sources = await inSources();
  const told = await inRunbooks();
  for (const code of Object.keys(STAYS_INSIDE)) {
    assert.ok(sources.has(code), `${code} is in no source any more`);
    assert.ok(!told.has(code), `${code} is in a runbook`);
  }
  for (const word of NO_CODES) assert.ok(sources.has(word), `${word} is in no source any more`);
});

Deno.test("codes are found where they stand, and not in comments", () => {
  const text = `
    return { kind: "refused", code: "one_thing", detail };
    return refuse(
      "two_things", "…");
    readonly code: "three" | "four_five";
    | (Refusal<"six" | "seven_eight"> & { cause: string })
    // code: "not_this"
     * refuse("nor_this")
  `;
  assert.deepEqual(codesIn(text).sort(), [
    ...["four_five", "one_thing", "one_thing", "seven_eight", "six", "three", "two_things"],
  ]);
});
