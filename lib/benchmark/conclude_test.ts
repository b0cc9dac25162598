import assert from "node:assert/strict";
import fc from "fast-check";
import { worstOf } from "./conditions.ts";
import { gapsOf, measuresOf } from "./conclude.ts";
import { distributionOf } from "./figures.ts";
import { type Outcome, outcomeOf, unanswered } from "./outcome.ts";
import type { Conditions } from "../evidence/evidence_shape.ts";

const ASKED = { prompt: "a", repeat: 0 };

function answer(
  arrivals: readonly number[],
  usage: { prompt: number; completion: number } | null,
): Outcome {
  const told = {
    ...{
      text: "x",
      tokens: null,
      top: null,
      finish: "stop",
      refused: false,
      fault: null,
      whole: true,
    },
    ...{ arrivals, usage },
  };
  return outcomeOf(ASKED, { sent: 100, ended: 1000 }, told, null);
}

Deno.test("distribution: each quantile is a value that was seen, in order, whatever was seen", () => {
  assert.equal(distributionOf([]), null);
  fc.assert(fc.property(
    fc.array(fc.double({ min: 0, max: 1e9, noNaN: true }), { minLength: 1, maxLength: 50 }),
    (values) => {
      const told = distributionOf(values);
      assert.ok(told !== null);
      const { min, p50, p90, p99, max, mean, count } = told;
      assert.equal(count, values.length);
      assert.ok(min <= p50 && p50 <= p90 && p90 <= p99 && p99 <= max);
      assert.ok(min <= mean && mean <= max);
    },
  ));
  const hundred = distributionOf(Array.from({ length: 100 }, (_, at) => at + 1));
  assert.deepEqual(
    [hundred?.min, hundred?.p50, hundred?.p90, hundred?.p99, hundred?.max],
    [1, 50, 90, 99, 100],
  );
});

Deno.test("measures: first token, rate after it, pauses; a failed answer has no part in them", () => {
  const whole = answer([150, 250, 350, 550], { prompt: 5, completion: 4 });
  const cut = {
    ...answer([120, 130], null),
    record: { ...whole.record, error: "truncated", ttft_ms: 20 },
  };
  const measures = measuresOf(
    [
      whole,
      cut,
      unanswered(ASKED, "http_status", { status: 429 }),
      unanswered(ASKED, "interrupted"),
    ],
    2000,
  );
  assert.deepEqual(measures.requests, { sent: 4, completed: 1, failed: 2, cancelled: 1 });
  assert.deepEqual(measures.errors, [{ code: "http_429", count: 1 }, {
    code: "truncated",
    count: 1,
  }]);
  assert.deepEqual([measures.ttft_ms?.count, measures.ttft_ms?.p50], [1, 50]);
  assert.equal(measures.tokens_per_second?.p50, 7.5, "three tokens in 0.4 s");
  assert.equal(measures.throughput, 2, "four tokens in two seconds");
  assert.deepEqual([gapsOf([whole, cut]).p50?.p50, gapsOf([whole, cut]).max?.max], [100, 200]);
  assert.equal(measuresOf([whole], null).throughput, null);
  const mixed = measuresOf([whole, answer([150, 250], null)], 1000);
  assert.deepEqual([mixed.tokens.counted_by, mixed.tokens.completion, mixed.tokens.prompt], [
    "chunks",
    6,
    null,
  ]);
  const many = Array.from(
    { length: 100 },
    (_, at) => unanswered(ASKED, "http_status", { status: 500 + at }),
  );
  const told = measuresOf(many, 1).errors;
  assert.ok(told.length <= 64);
  assert.equal(told.reduce((sum, { count }) => sum + count, 0), 100);
});

const LOOK: Conditions = {
  samples: 1,
  power: { source: "mains", battery_percent_min: 80 },
  thermal: { state: "nominal", celsius_max: 50 },
  pressure: { cpu_max: 1, memory_max: 0, io_max: null },
};

Deno.test("conditions: the worst of all looks, and one look that did not see is enough", () => {
  assert.equal(worstOf([]), null);
  const battery = { ...LOOK, power: { source: "battery" as const, battery_percent_min: 20 } };
  const blind = {
    ...LOOK,
    power: { source: "unknown" as const, battery_percent_min: null },
    thermal: { state: "unknown" as const, celsius_max: null },
  };
  const hot = { ...LOOK, thermal: { state: "throttled" as const, celsius_max: 99 } };
  assert.deepEqual(worstOf([LOOK, LOOK])?.power, { source: "mains", battery_percent_min: 80 });
  assert.deepEqual(worstOf([LOOK, battery])?.power, { source: "mixed", battery_percent_min: 20 });
  assert.equal(worstOf([LOOK, blind])?.power.source, "unknown");
  assert.equal(worstOf([LOOK, blind])?.thermal.state, "unknown");
  assert.equal(worstOf([LOOK, blind, hot])?.thermal.state, "throttled");
  assert.equal(worstOf([LOOK, hot])?.thermal.celsius_max, 99);
  assert.deepEqual(worstOf([LOOK, LOOK])?.pressure, { cpu_max: 1, memory_max: 0, io_max: null });
  assert.equal(worstOf([LOOK, LOOK, hot])?.samples, 3);
});
