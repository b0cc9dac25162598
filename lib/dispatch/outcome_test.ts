import assert from "node:assert/strict";
import fc from "fast-check";
import { countOutcomes, done, exitCodeOf, fell, OUTCOMES } from "./outcome.ts";

Deno.test("exit code: by the list and the number of hosts alone", () => {
  const kinds = (text: string) =>
    text.split(" ").filter((one) => one !== "").map((kind) => ({ kind } as { kind: "done" }));
  const table: readonly [string, number, boolean, 0 | 1][] = [
    ["done", 1, false, 0],
    ["done done", 2, true, 0],
    ["done unreachable wrong_node unauthorized timed_out", 5, false, 0],
    ["done unreachable", 2, true, 1],
    ["refused", 1, false, 1],
    ["unreachable busy", 2, false, 1],
    ["done", 2, false, 1], // one host has no outcome
    ["", 1, false, 1],
    ["may_have_executed done", 2, false, 0],
  ];
  for (const [list, hosts, all, code] of table) {
    assert.equal(exitCodeOf(kinds(list), hosts, all), code, list);
  }
});

Deno.test("exit code: order does not matter, and --require-all is never milder", () => {
  const list = fc.array(fc.constantFrom(...OUTCOMES).map((kind) => ({ kind })), { maxLength: 9 });
  fc.assert(fc.property(list, fc.nat(9), (outcomes, more) => {
    const hosts = outcomes.length + more % 2;
    const mild = exitCodeOf(outcomes, hosts, false);
    assert.equal(exitCodeOf(outcomes.toReversed(), hosts, false), mild);
    assert.ok(exitCodeOf(outcomes, hosts, true) >= mild);
    const counts = countOutcomes(outcomes);
    assert.deepEqual(Object.keys(counts), [...OUTCOMES]);
    assert.equal(Object.values(counts).reduce((sum, one) => sum + one, 0), outcomes.length);
  }));
});

Deno.test("outcomes: what is not said is not claimed", () => {
  const plain = fell("a", "busy", "agent_busy", "not now");
  assert.deepEqual([plain.notSent, plain.failure, plain.result, plain.known], [
    false,
    null,
    null,
    false,
  ]);
  assert.deepEqual([done("a", 1).code, done("a", 1).result], [null, 1]);
});
