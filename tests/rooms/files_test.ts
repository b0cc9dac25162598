import assert from "node:assert/strict";
import { EMPTY_NAMES, MOST_LINES } from "./rooms.ts";
import { filesUnder, textOf } from "./tree.ts";

/** What is wrong with one source, by its path and text. */
function faults(path: string, text: string): string[] {
  const found: string[] = [];
  const name = path.split("/").at(-1) ?? "";
  const words = name.replace(/\..*$/, "").split("_");
  for (const word of words) {
    if (EMPTY_NAMES.includes(word) || EMPTY_NAMES.includes(`${word}s`)) {
      found.push(`${path}: "${word}" does not say what is inside`);
    }
  }
  if (!/^[a-z][a-z0-9_]*(\.d)?\.tsx?$/.test(name)) found.push(`${path}: name it in snake_case`);
  const room = /^(lib|roles)\//.test(path);
  const lines = text.trimEnd().split("\n").length;
  if (room && lines > MOST_LINES) found.push(`${path}: ${lines} lines, at most ${MOST_LINES}`);
  if (room && !path.endsWith("_test.ts") && !text.startsWith("/**")) {
    found.push(`${path}: begin with what the module is for`);
  }
  // A .tsx file imports Hono without saying so: decision 0120.
  if (path.endsWith(".tsx") && !path.startsWith("roles/operator/dashboard/")) {
    found.push(`${path}: only the dashboard has pages`);
  }
  for (const silencer of SILENCERS) {
    if (text.includes(silencer)) {
      found.push(`${path}: ${silencer} silences a check; mend the cause`);
    }
  }
  return found;
}

/** Written in two parts, so that this file passes its own test. */
const SILENCERS = [
  "deno-lint-" + "ignore",
  "@ts-" + "ignore",
  "@ts-" + "nocheck",
  "deno-fmt-" + "ignore",
];

Deno.test("sources are small, named for what they hold, explained and not silenced", async () => {
  const found: string[] = [];
  for (const area of ["lib/", "roles/", "tests/", "scripts/"]) {
    for (const path of await filesUnder(area)) {
      if (/\.tsx?$/.test(path)) found.push(...faults(path, await textOf(path)));
    }
  }
  assert.deepEqual(found, []);
});

Deno.test("each fault is noticed", () => {
  const fine = "/** A room. */\n";
  assert.deepEqual(faults("lib/core/ids.ts", fine), []);
  for (
    const [path, text] of [
      ["lib/core/utils.ts", fine],
      ["lib/core/string_helper.ts", fine],
      ["roles/agent/base.ts", fine],
      ["lib/core/camelCase.ts", fine],
      ["lib/core/ids.ts", fine + "\nx".repeat(MOST_LINES)],
      ["lib/core/ids.ts", "export {};\n"],
      ["roles/router/page.tsx", fine],
      ["tests/flow/x_test.ts", `// ${SILENCERS[0]} no-explicit-any\n`],
    ] as const
  ) {
    assert.equal(faults(path, text).length, 1, path);
  }
});
