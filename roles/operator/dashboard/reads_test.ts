import assert from "node:assert/strict";
import { asksOf, isAllowed, READS } from "./reads.ts";

Deno.test("reads: a fast look asks little, a slow one all that needs nothing before it", () => {
  assert.deepEqual(asksOf(false).map(({ name }) => name), ["router.status"]);
  assert.deepEqual(asksOf(true).map(({ name }) => name).sort(), [
    "candidates.status",
    "node.identity",
    "router.status",
    "serves.list",
  ]);
  for (const ask of asksOf(true)) assert.ok(isAllowed(ask) && !ask.dryRun && !ask.confirm);
});

Deno.test("reads: nothing that is not in the table may be asked", () => {
  assert.deepEqual(Object.keys(READS).length, 5);
  for (const name of ["serves.up", "router.transition", "toString", "__proto__", ""]) {
    assert.equal(isAllowed({ name, dryRun: false }), false, name);
  }
  assert.equal(isAllowed({ name: "router.status", dryRun: true }), false, "a dry run is no read");
});
