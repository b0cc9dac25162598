import assert from "node:assert/strict";
import { laptopEvidence, sampleEvidence, sampleRun, spread } from "../testing/evidence_samples.ts";
import { compare } from "./comparison.ts";
import { conditionsText, ineligibleEvidence, refusePublication } from "./conditions.ts";
import type { Evidence } from "./evidence_shape.ts";

const named = async (body: Evidence) => await sampleRun(body, []);

Deno.test("compare: figures beside each other, what differs listed, conditions among it", async () => {
  const found = compare(
    await named(sampleEvidence()),
    await named(laptopEvidence(({ measures }) => measures.ttft_ms = spread(4, 40, 80))),
  );
  assert.ok(found.kind === "compared");
  const ttft = found.figures.find(({ measure }) => measure === "ttft_ms.p50");
  assert.deepEqual(ttft, { measure: "ttft_ms.p50", left: 30, right: 60, ratio: 2 });
  const failed = found.figures.find(({ measure }) => measure === "requests.failed");
  assert.deepEqual(failed, { measure: "requests.failed", left: 0, right: 0, ratio: null });
  const paths = found.differences.map(({ path }) => path);
  for (const path of ["conditions.power.source", "host.availability", "subject.engine"]) {
    assert.ok(paths.includes(path), path);
  }
});

Deno.test("compare: unlike work is not comparable, and every difference of it is listed", async () => {
  const found = compare(
    await named(sampleEvidence()),
    await named(sampleEvidence((body) => {
      body.workload.corpus.digest = "0".repeat(64);
      body.workload.sampling.max_tokens = 128;
      body.workload.concurrency = 8;
      body.measures.tokens.counted_by = "chunks";
      body.run.complete = false;
    })),
  );
  assert.ok(found.kind === "not_comparable");
  assert.deepEqual(found.reasons.map(({ path }) => path), [
    "workload.concurrency",
    "workload.corpus.digest",
    "workload.sampling.max_tokens",
    "measures.tokens.counted_by",
    "run.complete",
  ]);
});

Deno.test("conditions: every wording begins with the availability, also of nothing", () => {
  assert.equal(
    conditionsText(laptopEvidence()),
    "opportunistic; power battery (down to 37 %); thermal throttled (up to 98 °C); " +
      "pressure cpu 41 %, memory 12.3 %, io unknown; 12 looks",
  );
  assert.equal(
    conditionsText(sampleEvidence((body) => body.conditions = null)),
    "continuous; conditions not observed",
  );
});

Deno.test("publication: what is refused, and what is not", () => {
  const code = (body: Evidence) => refusePublication(body)?.code ?? null;
  assert.equal(code(sampleEvidence()), null);
  assert.equal(code(laptopEvidence()), null);
  assert.equal(code(sampleEvidence((body) => body.conditions = null)), null);
  assert.equal(code(laptopEvidence((body) => body.conditions = null)), "conditions_missing");
  const unseen = laptopEvidence((body) =>
    body.conditions = {
      samples: 3,
      power: { source: "unknown", battery_percent_min: null },
      thermal: { state: "unknown", celsius_max: null },
      pressure: { cpu_max: null, memory_max: null, io_max: null },
    }
  );
  assert.equal(code(unseen), "conditions_unstated");
  assert.equal(code(sampleEvidence(({ run }) => run.complete = false)), "evidence_incomplete");
  const empty = sampleEvidence(({ measures }) => {
    measures.requests = { sent: 4, completed: 0, failed: 4, cancelled: 0 };
    measures.errors = [{ code: "timed_out", count: 4 }];
  });
  assert.equal(code(empty), "evidence_empty");
});

Deno.test("eligibility: by the rule of promotions, on the axes the host had then", () => {
  assert.equal(ineligibleEvidence(sampleEvidence()), null);
  assert.match(ineligibleEvidence(laptopEvidence()) ?? "", /opportunistic/);
  assert.match(
    ineligibleEvidence(sampleEvidence(({ host }) => host.runtime = null)) ?? "",
    /model/,
  );
});
