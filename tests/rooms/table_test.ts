import assert from "node:assert/strict";
import { ROLES, type Room, ROOMS, TEST_PACKAGES } from "./rooms.ts";
import { filesUnder, textOf } from "./tree.ts";

/** What is wrong between the rows of a table and the folders that hold files. */
function differences(
  area: string,
  rows: Readonly<Record<string, Room>>,
  files: readonly string[],
): string[] {
  const folders = new Set(files.map((path) => path.split("/")[1] ?? ""));
  const wrong: string[] = [];
  for (const folder of folders) {
    if (!Object.hasOwn(rows, folder)) wrong.push(`${area}/${folder} is not in the table`);
  }
  for (const [name, row] of Object.entries(rows)) {
    if (row.planned === true && folders.has(name)) {
      wrong.push(`${area}/${name} exists: drop \`planned\` from its row`);
    } else if (row.planned !== true && !folders.has(name)) {
      wrong.push(`the table names ${area}/${name}, which holds no file`);
    }
  }
  return wrong;
}

Deno.test("the table names every room that exists, and no other", async () => {
  assert.deepEqual([
    ...differences("lib", ROOMS, await filesUnder("lib/")),
    ...differences("roles", ROLES, await filesUnder("roles/")),
  ], []);
});

Deno.test("a stray folder, a stray row and a begun plan are each noticed", () => {
  const row: Room = { reach: "pure", imports: [], types: [], packages: [] };
  const rows = {
    kept: row,
    gone: row,
    begun: { ...row, planned: true },
    later: { ...row, planned: true },
  } as const;
  const files = ["lib/kept/a.ts", "lib/stray/a.ts", "lib/begun/a.ts"];
  assert.deepEqual(differences("lib", rows, files), [
    "lib/stray is not in the table",
    "the table names lib/gone, which holds no file",
    "lib/begun exists: drop `planned` from its row",
  ]);
});

Deno.test("value imports point down: a row leans on earlier rows only", () => {
  const names = Object.keys(ROOMS);
  for (const [name, row] of Object.entries(ROOMS)) {
    for (const other of row.imports) {
      assert.ok(names.includes(other), `${name} imports ${other}, which is no room`);
      assert.ok(names.indexOf(other) < names.indexOf(name), `${name} imports ${other}: upward`);
    }
    for (const other of row.types) assert.ok(names.includes(other), `${name}: no room ${other}`);
    const seesWorld = row.imports.includes("host");
    assert.ok(row.reach !== "pure" || !seesWorld, `${name} is pure and imports host`);
  }
});

Deno.test("the packages of the table are the packages of deno.json", async () => {
  const { imports } = JSON.parse(await textOf("deno.json"));
  const used = new Set([
    ...TEST_PACKAGES,
    ...[...Object.values(ROOMS), ...Object.values(ROLES)].flatMap((row) => row.packages),
  ]);
  assert.deepEqual([...used].sort(), Object.keys(imports).sort());
});
