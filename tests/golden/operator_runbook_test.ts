import assert from "node:assert/strict";
import { OUTCOMES } from "../../lib/dispatch/outcome.ts";
import { RULES } from "../../lib/topology/rules.ts";
import { PAGE as REFERENCE, rendered } from "../../scripts/operator_reference.ts";
import { filesUnder, textOf } from "../rooms/tree.ts";

const PAGE = new URL("../../docs/runbooks/operator-codes.md", import.meta.url);

/** Where a code stands in a source: as a problem, a refusal, a fault of the tree, a member of a union. */
const CODE_PLACES = [
  /\bcode: "([a-z0-9_]+)"/g,
  /\b(?:fault|refuse|refused|homeRefusal|invalid|report|told|unusable)\(\s*(?:here, )?"([a-z0-9_]+)"/g,
  /\bat\((?:index, )?"[a-z]+", "([a-z0-9_]+)"/g,
  /\bfell\(\s*[a-z.#A-Z]+,\s*"[a-z_]+",\s*"([a-z0-9_]+)"/g,
  /\bother\("([a-z0-9_]+)"/g,
  /\babsent\("[a-z]+", [a-z]+, "([a-z0-9_]+)"/g,
  /\bnone: [^"\n]*"(no_[a-z]+)"/g,
  /\bcode: [^"\n]*\? (?:null|"[a-z_]+") : "([a-z0-9_]+)"/g,
  /\bcode = [^"\n]*\? "([a-z0-9_]+)" : "[a-z0-9_]+"/g,
  /\bcode = [^"\n]*\? "[a-z0-9_]+" : "([a-z0-9_]+)"/g,
  /"\d{6}": \[\s*"([a-z0-9_]+)"/g,
  /^ {2}\| "([a-z0-9_]+)"/gm,
];

/** What stands in such a place and is shown to nobody. */
const NOT_CODES = ["custom", "code", "message"];

/** Unions whose members are no codes. */
const NOT_UNIONS = [
  "lib/topology/draft.ts",
  "lib/topology/vocabulary.ts",
  "lib/dispatch/exchange.ts",
];

/** Sources whose codes the operator shows, besides its own and those of the two rooms. */
const SHARED = [
  ...["lib/core/address.ts", "lib/core/strict_json.ts", "lib/document/shape.ts"],
  "lib/document/toml.ts",
];

/** Of lib/host: what a file that a person names can be refused with. */
const OF_FILES = ["file_unreadable", "file_too_large"];

/** Of lib/host: why the dashboard cannot listen. */
const OF_LISTENING = ["port_in_use", "listen_denied", "listen_failed"];

function matches(text: string, pattern: RegExp): string[] {
  return [...text.matchAll(pattern)].map((match) => match[1] ?? "");
}

/** Every code that the operator can print. */
async function printed(): Promise<ReadonlySet<string>> {
  const rooms = ["roles/operator/", "lib/home/", "lib/topology/", "lib/dispatch/"];
  const paths = [...(await Promise.all(rooms.map(filesUnder))).flat(), ...SHARED]
    .filter((path) => path.endsWith(".ts") && !path.endsWith("_test.ts"))
    .filter((path) => !NOT_UNIONS.includes(path))
    // Evidence has a runbook of its own, and a test that holds it to the sources.
    .filter((path) => !/^roles\/operator\/.*evidence/.test(path));
  const texts = await Promise.all(paths.map(textOf));
  const broken = await textOf("tests/golden/broken/topology.problems");
  return new Set([
    ...texts.flatMap((text) => CODE_PLACES.flatMap((place) => matches(text, place))),
    ...RULES.flatMap(({ codes }) => codes),
    ...broken.trimEnd().split("\n").map((line) => line.split(" ").at(-1) ?? ""),
    ...OF_FILES,
    ...OF_LISTENING,
  ].filter((code) => !NOT_CODES.includes(code)));
}

Deno.test("the operator's runbook has an entry for every code it prints, and for no other", async () => {
  const codes = await printed();
  // One per place a code can stand in: the patterns still fit the sources.
  for (
    const one of ["home_empty", "unknown_key", "target_ambiguous", "submodule", "git_absent"]
  ) assert.ok(codes.has(one), `${one} was not found in the sources`);
  const headings = matches(await Deno.readTextFile(PAGE), /^### `([^`]+)`$/gm);
  assert.deepEqual([...codes].filter((code) => !headings.includes(code)).sort(), []);
  assert.deepEqual(headings.filter((heading) => !codes.has(heading)), []);
});

Deno.test("an entry of the operator's runbook has its three lines, and stands once", async () => {
  const entries = (await Deno.readTextFile(PAGE)).split(/^### /m).slice(1);
  assert.ok(entries.length > 50, "the entries were not found");
  for (const entry of entries) {
    const parts = matches(entry.split("\n## ")[0] ?? "", /^- \*\*([^*]+)\*\*: /gm);
    assert.deepEqual(parts, ["You see", "It means", "Do"], entry.split("\n")[0]);
  }
  const all = entries.map((entry) => entry.split("\n")[0]);
  assert.deepEqual(all, [...new Set(all)], "two entries have one heading");
});

Deno.test("the commands of the operator's reference are what its help says", async () => {
  const page = await Deno.readTextFile(REFERENCE);
  assert.equal(page, rendered(page), "run scripts/operator_reference.ts");
  const told = matches(page.split("## Outcomes")[1]?.split("\n## ")[0] ?? "", /^\| `([a-z_]+)`/gm);
  assert.deepEqual(told, [...OUTCOMES]);
});
