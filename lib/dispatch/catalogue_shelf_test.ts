import assert from "node:assert/strict";
import { canonicalJson } from "../core/canonical_json.ts";
import { CatalogueShelf } from "./catalogue_shelf.ts";
import type { Exchanged } from "./exchange.ts";

/** Not SHA-256, and good enough to tell texts apart. */
const digest = (text: string) => new TextEncoder().encode(`${text.length}:${text.slice(0, 60)}`);
const OPERATIONS = [
  { name: "a.read", effect: "read", deadline_ms: 10 },
  { name: "a.write", effect: "mutate", deadline_ms: 20 },
  { name: "a.odd", effect: "perhaps", deadline_ms: 20 },
];
const DIGEST = digest(canonicalJson(OPERATIONS)).toHex();
const answer = (operations: unknown): Exchanged => ({
  kind: "answered",
  status: 200,
  headers: new Map(),
  bytes: new TextEncoder().encode(JSON.stringify({ operations })),
});

Deno.test("shelf: one catalogue is asked for once, also by many at once", async () => {
  const shelf = new CatalogueShelf(digest);
  let asked = 0;
  const ask = () => {
    asked++;
    return Promise.resolve(answer(OPERATIONS));
  };
  const found = await Promise.all(
    ["a.read", "a.write", "a.odd", "b.none"].map((name) => shelf.entryOf(DIGEST, name, ask)),
  );
  assert.deepEqual(found, [
    { effect: "read", deadlineMs: 10 },
    { effect: "mutate", deadlineMs: 20 },
    null,
    null,
  ]);
  assert.equal(asked, 1);
});

Deno.test("shelf: whoever waited for an agent that gave nothing asks its own", async () => {
  const shelf = new CatalogueShelf(digest);
  const slow = Promise.withResolvers<Exchanged>();
  const first = shelf.entryOf(DIGEST, "a.read", () => slow.promise);
  const second = shelf.entryOf(DIGEST, "a.read", () => Promise.resolve(answer(OPERATIONS)));
  slow.resolve({ kind: "failed", code: "late", sent: "unknown" });
  assert.deepEqual([await first, (await second)?.effect], [null, "read"]);
});

Deno.test("shelf: a catalogue that is not the one it says is not believed, and not kept", async () => {
  const shelf = new CatalogueShelf(digest);
  const lie = OPERATIONS.map((one) => ({ ...one, effect: "read" }));
  const bad: readonly Exchanged[] = [
    answer(lie),
    answer("none"),
    { kind: "failed", code: "late", sent: "unknown" },
    { ...answer(OPERATIONS), status: 500 } as Exchanged,
  ];
  for (const one of bad) {
    assert.equal(await shelf.entryOf(DIGEST, "a.write", () => Promise.resolve(one)), null);
  }
  const good = await shelf.entryOf(DIGEST, "a.write", () => Promise.resolve(answer(OPERATIONS)));
  assert.equal(good?.effect, "mutate");
  assert.equal(await shelf.entryOf(null, "a.write", () => assert.fail("no digest")), null);
});

Deno.test("shelf: whether it has an operation is not known before a catalogue was read whole", async () => {
  const shelf = new CatalogueShelf(digest);
  const has = (name: string) => shelf.has(DIGEST, name);
  assert.deepEqual([await has("a.read"), await shelf.has(undefined, "a.read")], [null, null]);
  await shelf.entryOf(DIGEST, "a.read", () => Promise.resolve(answer([])));
  assert.equal(await has("a.read"), null, "a catalogue of another digest counted");
  await shelf.entryOf(DIGEST, "a.read", () => Promise.resolve(answer(OPERATIONS)));
  assert.deepEqual([await has("a.read"), await has("b.none")], [true, false]);
});
