import assert from "node:assert/strict";
import {
  type CheckEnd,
  CHECKS,
  conformanceTable,
  driverConformance,
} from "../../lib/testing/driver_conformance.ts";
import { simulatedWorld } from "../support/driver_worlds.ts";
import { launchdWorld, windowsWorld } from "../support/recorded_worlds.ts";

Deno.test("drivers: one contract, in memory and on recorded facts", async (t) => {
  const ends: CheckEnd[] = [];
  for (const world of [simulatedWorld(), launchdWorld(), windowsWorld()]) {
    ends.push(...await driverConformance(t, world));
  }
  const table = conformanceTable(ends);
  console.log(table);
  assert.doesNotMatch(table, /failed/);
  assert.equal(ends.length, 3 * CHECKS.length);
});
