import assert from "node:assert/strict";
import fc from "fast-check";
import { type Fault, type FaultKind, FAULTS, targetOf } from "./fault.ts";
import { plan } from "./plan.ts";
import { SeededRandom } from "./random.ts";

const HOSTS = ["gpu-a", "gpu-b"];
const seed = fc.string({ minLength: 1, maxLength: 12 });
const over = ({ at, lasts }: Fault) => at + lasts;

Deno.test("plan: the seed decides it all, and another seed decides otherwise", () => {
  assert.deepEqual(plan("7", 3, HOSTS), plan("7", 3, HOSTS));
  assert.notDeepEqual(plan("7", 3, HOSTS).faults, plan("8", 3, HOSTS).faults);
});

Deno.test("plan: everything is over by the end, and two faults never work on one thing", () => {
  fc.assert(fc.property(seed, fc.integer({ min: 1, max: 5 }), (text, minutes) => {
    const { faults, acts } = plan(text, minutes, HOSTS);
    assert.ok(faults.length > minutes * 5, `${faults.length} faults`);
    assert.ok(acts.length > minutes * 7, `${acts.length} acts`);
    assert.equal(new Set(acts.map(({ name }) => name)).size, acts.length);
    for (const [index, fault] of faults.entries()) {
      assert.ok(fault.at >= (faults[index - 1]?.at ?? 0));
      assert.ok(over(fault) <= minutes * 60_000);
      const [least, most] = FAULTS[fault.kind].lasts;
      assert.ok(fault.lasts >= least && fault.lasts <= most);
      for (const other of faults.slice(index + 1)) {
        if (other.at < over(fault)) assert.notEqual(targetOf(other), targetOf(fault));
      }
    }
  }));
});

Deno.test("plan: the gateway goes in a lull, in which nothing else happens", () => {
  fc.assert(fc.property(seed, (text) => {
    const { faults, acts } = plan(text, 2, HOSTS);
    const gone = faults.filter(({ kind }) => kind === "gateway_gone");
    assert.ok(gone.length > 0);
    for (const lull of gone) {
      const from = lull.at - 9000;
      const others = faults.filter((one) =>
        one !== lull && one.at <= over(lull) && over(one) >= from
      );
      assert.deepEqual(others, []);
      assert.deepEqual(acts.filter(({ at }) => at >= from && at <= over(lull)), []);
    }
  }));
});

Deno.test("plan: within some seeds every kind of fault comes", () => {
  const seen = new Set<FaultKind>();
  for (let one = 0; one < 20; one++) {
    for (const { kind } of plan(`${one}`, 3, HOSTS).faults) seen.add(kind);
  }
  assert.deepEqual([...seen].sort(), Object.keys(FAULTS).sort());
});

Deno.test("random: numbers are spread, and stay within their bounds", () => {
  const random = new SeededRandom("spread");
  const counts = new Map<number, number>();
  for (let one = 0; one < 6000; one++) {
    const at = random.whole(1, 6);
    counts.set(at, (counts.get(at) ?? 0) + 1);
  }
  assert.deepEqual([...counts.keys()].sort(), [1, 2, 3, 4, 5, 6]);
  assert.ok([...counts.values()].every((count) => count > 800 && count < 1200));
});
