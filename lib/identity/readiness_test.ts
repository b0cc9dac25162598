import assert from "node:assert/strict";
import fc from "fast-check";
import { type Finding, type Readiness, step, UNPROBED } from "./readiness.ts";

const MATCH: Finding = { kind: "match" };
const SILENT: Finding = { kind: "silent" };

function probed(
  before: Readiness,
  finding: Finding,
  { epoch = before.epoch, inFlight = 0, at = 1000 } = {},
): Readiness {
  return step(before, { kind: "probed", epoch, finding, inFlight, at });
}

const READY = probed(UNPROBED, MATCH);

Deno.test("readiness: what each finding says", () => {
  const said: [Finding, Readiness["state"], string][] = [
    [MATCH, "ready", "the pinned model"],
    [{ kind: "mismatch", observed: ["org/other"] }, "identity_mismatch", '"org/other"'],
    [{ kind: "mismatch", observed: [] }, "identity_mismatch", "no model"],
    [
      { kind: "unparseable", detail: "the answer is not JSON" },
      "unparseable",
      "the answer is not JSON",
    ],
    [{ kind: "refused", detail: "nothing listens there" }, "unreachable", "nothing listens there"],
    [
      { kind: "status", status: 503 },
      "unreachable",
      "the identity probe was answered with status 503",
    ],
  ];
  for (const [finding, state, observed] of said) {
    for (const before of [UNPROBED, READY]) {
      for (const inFlight of [0, 3]) {
        assert.deepEqual(probed(before, finding, { inFlight, at: 7 }), {
          epoch: 0,
          state,
          observed,
          at: 7,
          silences: 0,
        });
      }
    }
  }
});

Deno.test("readiness: an engine cannot fill the log with names", () => {
  const observed = ["a".repeat(300), "b\n", "c", "d", "e", "f", "g"];
  const { observed: shown } = probed(UNPROBED, { kind: "mismatch", observed });
  assert.equal(shown, `"${"a".repeat(200)}", "b\\n", "c", "d", "e" and 2 more`);
});

Deno.test("readiness: a probe begun before a transition makes nothing ready after it", () => {
  const moved = step(READY, { kind: "epoch-moved" });
  assert.deepEqual(moved, { ...UNPROBED, epoch: 1 });
  assert.equal(probed(moved, MATCH, { epoch: 0 }), moved);
  assert.equal(probed(moved, { kind: "status", status: 500 }, { epoch: 0 }), moved);
  assert.equal(probed(moved, MATCH, { epoch: 1 }).state, "ready");
});

Deno.test("readiness: a busy engine that is silent stays what it was, and fresh", () => {
  let member = READY;
  for (let at = 2000; at < 20_000; at += 2000) {
    member = probed(member, SILENT, { inFlight: 1, at });
    member = step(member, { kind: "tick", at: at + 100, staleAfterMs: 2000 });
    assert.equal(member.state, "ready");
  }
  assert.equal(probed(UNPROBED, SILENT, { inFlight: 1 }).state, "unknown");
});

Deno.test("readiness: an idle engine that is silent twice is unreachable", () => {
  const once = probed(READY, SILENT);
  assert.deepEqual([once.state, once.silences], ["ready", 1]);
  const twice = probed(once, SILENT, { at: 9 });
  assert.deepEqual(twice, {
    epoch: 0,
    state: "unreachable",
    observed: "no answer in time",
    at: 9,
    silences: 2,
  });
  const answered = probed(probed(once, MATCH), SILENT);
  assert.deepEqual([answered.state, answered.silences], ["ready", 1]);
  assert.equal(probed(probed(UNPROBED, SILENT), SILENT).state, "unreachable");
});

Deno.test("readiness: an old finding counts no more", () => {
  const tick = (at: number) => step(READY, { kind: "tick", at, staleAfterMs: 500 });
  assert.equal(tick(1500), READY);
  assert.deepEqual(tick(1501), {
    epoch: 0,
    state: "unknown",
    observed: "the last finding is too old",
    at: null,
    silences: 0,
  });
  assert.equal(step(UNPROBED, { kind: "tick", at: 1e9, staleAfterMs: 1 }), UNPROBED);
});

Deno.test("readiness: ready only by a match of the present epoch", () => {
  const finding = fc.constantFrom<Finding>(
    MATCH,
    SILENT,
    { kind: "mismatch", observed: [] },
    { kind: "status", status: 404 },
  );
  const events = fc.array(fc.oneof(
    fc.record({ finding, late: fc.boolean(), inFlight: fc.nat({ max: 1 }) }),
    fc.constant("move" as const),
  ));
  fc.assert(fc.property(events, (events) => {
    let member = UNPROBED;
    let matched = false;
    for (const event of events) {
      if (event === "move") {
        member = step(member, { kind: "epoch-moved" });
        matched = false;
        continue;
      }
      const epoch = event.late ? member.epoch - 1 : member.epoch;
      member = probed(member, event.finding, { epoch, inFlight: event.inFlight });
      if (!event.late && event.finding.kind === "match") matched = true;
      if (!event.late && !["match", "silent"].includes(event.finding.kind)) matched = false;
      if (member.state === "ready") assert.ok(matched);
    }
  }));
});
