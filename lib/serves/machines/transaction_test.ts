import assert from "node:assert/strict";
import fc from "fast-check";
import type { Step } from "./step.ts";
import {
  type Event,
  isOver,
  MOST_TRIES,
  type Plan,
  type State,
  TRANSACTION,
} from "./transaction.ts";

const A = "a".repeat(64);
const B = "b".repeat(64);

/** A promotion, as planned. */
const STEPS: readonly Step[] = [
  { do: "quiesce", tier: "primary" },
  { do: "drain", tier: "primary", seconds: 5 },
  { do: "stop", serve: "old" },
  { do: "grant", serves: ["new"] },
  { do: "start", serve: "new" },
  { do: "verify", serve: "new" },
  { do: "validate", digest: B },
  { do: "snapshot", digest: A },
  { do: "write", from: A, to: B },
  { do: "restart", digest: B },
  { do: "await", digest: B },
  { do: "readmit", tier: "primary", serves: ["new"] },
];

const PLAN: Plan = {
  kind: "promote",
  node: "gpu-a",
  subject: "llm.primary",
  evidence: null,
  bound: { config: A, manifest: null, topology: null },
  steps: [...STEPS],
  before: { primary: ["old"] },
  drain_seconds: 5,
  notes: [],
};

const BEGIN: Event = { kind: "begin", plan: PLAN, run: null };

function fold(events: readonly Event[]): State {
  return events.reduce(TRANSACTION.step, TRANSACTION.initial);
}

const done: Event = { kind: "done", observed: "" };
const failed = (code: string, changed: boolean): Event => ({
  kind: "failed",
  failure: { code, detail: "" },
  changed,
});
const start: Event = { kind: "resumed", by: "start" };

const outcome: fc.Arbitrary<Event> = fc.oneof(
  { weight: 6, arbitrary: fc.constant(done) },
  { weight: 2, arbitrary: fc.boolean().map((changed) => failed("serve_died", changed)) },
  { weight: 1, arbitrary: fc.constant(failed("router_unreachable", false)) },
  { weight: 2, arbitrary: fc.constant(start) },
);

/** What a host would be after the steps that were done, however they came. */
function follow(outcomes: readonly Event[]) {
  let state = fold([BEGIN]);
  const world = { quiesced: false, running: "old", config: A, proven: "old" as string | null };
  for (const event of outcomes) {
    const step = TRANSACTION.owed(state);
    if (step === null) break;
    if (step.do === "readmit") {
      assert.equal(world.running, step.serves[0], "a tier is readmitted to a serve that is not up");
      assert.equal(world.proven, world.running, "and that was not proven since it started");
      const belongs = world.config === (step.serves[0] === "new" ? B : A);
      assert.ok(belongs, "and that the configuration does not name");
    }
    if (event.kind === "done" || (event.kind === "failed" && event.changed)) {
      if (step.do === "quiesce") world.quiesced = true;
      if (step.do === "readmit" && event.kind === "done") world.quiesced = false;
      if (step.do === "stop") [world.running, world.proven] = ["", null];
      if (step.do === "start") [world.running, world.proven] = [step.serve, null];
      if (step.do === "verify" && event.kind === "done") world.proven = step.serve;
      if (step.do === "write") world.config = step.to;
      if (step.do === "unwrite") world.config = step.from;
      const touches = ["stop", "start", "write", "unwrite"].includes(step.do);
      assert.ok(!touches || world.quiesced, `${step.do} while the tier admits`);
    }
    state = TRANSACTION.step(state, event);
  }
  return { state, world };
}

Deno.test("transaction: whatever comes, nothing is readmitted unproven, nothing changed while it admits", () => {
  fc.assert(
    fc.property(fc.array(outcome, { maxLength: 120 }), (outcomes) => {
      const { state, world } = follow(outcomes);
      if (state.at === "reached") {
        assert.deepEqual(world, { quiesced: false, running: "new", config: B, proven: "new" });
      }
      if (state.at === "returned") {
        assert.deepEqual(world, { quiesced: false, running: "old", config: A, proven: "old" });
      }
    }),
    { numRuns: 3000 },
  );
});

Deno.test("transaction: from every state it ends, when steps succeed from then on", () => {
  fc.assert(
    fc.property(fc.array(outcome, { maxLength: 60 }), (outcomes) => {
      let { state } = follow(outcomes);
      for (let paid = 0; !isOver(state) && state.at !== "stuck"; paid++) {
        assert.ok(paid < 60, "it does not come to an end");
        state = TRANSACTION.step(state, done);
      }
      assert.notEqual(state.at, "forward");
    }),
    { numRuns: 1000 },
  );
});

Deno.test("transaction: a start in the middle quiesces first, unless the router has to come back", () => {
  const upTo = (count: number) =>
    fold([BEGIN, ...Array.from({ length: count }, () => done), start]);
  for (let count = 1; count < STEPS.length; count++) {
    const state = upTo(count);
    assert.deepEqual(TRANSACTION.owed(state), { do: "quiesce", tier: "primary" }, `${count}`);
    const deaf = TRANSACTION.step(state, failed("router_unreachable", false));
    const next = STEPS[count];
    const waits = ["validate", "snapshot", "write", "restart", "await"].includes(next?.do ?? "");
    if (waits) assert.deepEqual(TRANSACTION.owed(deaf), next, `${count}`);
    else assert.equal(deaf.at, "back", `${count}`);
  }
  // Once the router is back, the tier is quiesced again before it is readmitted.
  let state = TRANSACTION.step(upTo(9), failed("router_unreachable", false));
  for (const verb of ["restart", "await", "quiesce", "readmit"]) {
    assert.equal(TRANSACTION.owed(state)?.do, verb);
    state = TRANSACTION.step(state, done);
  }
  assert.equal(state.at, "reached");
});

Deno.test("transaction: the way back is tried three times, then a person is asked", () => {
  let state = fold([BEGIN, done, done, done, failed("over_budget", false)]);
  assert.equal(state.at, "back");
  for (let tries = 0; tries < MOST_TRIES; tries++) {
    assert.deepEqual(TRANSACTION.owed(state), { do: "start", serve: "old" });
    state = TRANSACTION.step(state, failed("image_absent", false));
  }
  assert.equal(state.at, "stuck");
  assert.equal(TRANSACTION.owed(state), null);
  assert.deepEqual(TRANSACTION.step(state, start), state, "a start of the agent changes nothing");
  const again = TRANSACTION.step(state, { kind: "resumed", by: "person" });
  assert.deepEqual(TRANSACTION.owed(again), { do: "quiesce", tier: "primary" });
  assert.equal(TRANSACTION.step(state, { kind: "abandoned", by: "ops" }).at, "abandoned");
});

Deno.test("transaction: a first step that an earlier life may have begun is taken back", () => {
  const fresh = fold([BEGIN, failed("router_unreachable", false)]);
  assert.equal(fresh.at, "returned");
  const again = fold([BEGIN, start, failed("router_unreachable", false)]);
  assert.deepEqual(TRANSACTION.owed(again), { do: "readmit", tier: "primary", serves: ["old"] });
});
