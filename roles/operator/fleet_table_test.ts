import assert from "node:assert/strict";
import fc from "fast-check";
import { ageText } from "./age.ts";
import { compareVersions } from "./fleet_table.ts";

Deno.test("age: the largest whole unit, and what lies ahead says so", () => {
  const table: readonly [number, string][] = [
    [0, "0 s"],
    [999, "0 s"],
    [59_999, "59 s"],
    [60_000, "1 min"],
    [3 * 3_600_000, "3 h"],
    [49 * 3_600_000, "2 d"],
    [-500, "0 s"],
    [-90_000, "1 min ahead"],
    [NaN, "?"],
  ];
  for (const [ms, text] of table) assert.equal(ageText(ms), text);
});

Deno.test("versions: by numbers, a release before its own pre-release, and one order", () => {
  const rising = ["0.9.1", "0.10.0-rc1", "0.10.0-rc2", "0.10.0", "0.10.0.1", "1.0.0"];
  for (const [at, left] of rising.entries()) {
    for (const [other, right] of rising.entries()) {
      assert.equal(compareVersions(left, right), Math.sign(at - other), `${left} ${right}`);
    }
  }
  fc.assert(fc.property(fc.string(), fc.string(), (left, right) => {
    assert.equal(compareVersions(left, right) + compareVersions(right, left), 0);
    assert.equal(compareVersions(left, left), 0);
  }));
});
