import assert from "node:assert/strict";
import type { Facts } from "./facts.ts";
import { reportOf, tooQuiet } from "./report.ts";

const NOTHING: Facts = {
  ...{ hosts: ["gpu-a"], inflicted: [], transcripts: [], diary: [], decisions: [], lives: [] },
  ...{ samples: [], asks: [], ledger: [], audit: [], orders: [], adoption: [], probes: [] },
  ...{ published: [], tokens: [], leaks: [], broken: [], quiet: [] },
};

Deno.test("report: a violation is told with what replays it", () => {
  const violations = Array.from({ length: 20 }, (_, index) => ({
    invariant: "no lease leaked",
    detail: `number ${index}`,
  }));
  const text = reportOf("seed-7", 3, 2, { facts: NOTHING, violations });
  assert.match(text, /^VIOLATED {2}no lease leaked: number 0$/m);
  assert.match(text, /^… and 8 more$/m);
  assert.match(text, /20 violations\. Replay: make chaos SEED=seed-7 MINUTES=3 HOSTS=2$/);
  const fine = reportOf("seed-7", 3, 2, { facts: NOTHING, violations: [] });
  assert.match(fine, /^chaos seed seed-7: no violation in 3 min$/m);
});

Deno.test("report: a walk in which nothing happened proves nothing", () => {
  assert.equal(tooQuiet(NOTHING).length, 7);
  assert.ok(!tooQuiet({ ...NOTHING, broken: [] }).includes("a violation"));
});
