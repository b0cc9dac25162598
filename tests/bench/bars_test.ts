import assert from "node:assert/strict";
import { type Bar, BARS, judge } from "./bars.ts";
import { METRICS } from "./metrics.ts";
import { counting, Results } from "./results.ts";

const cpu: Bar = {
  scenario: "sse",
  metric: "sse.cpu",
  text: "CPU",
  source: "test",
  limit: { most: 1.8 },
  against: "nginx",
};
const added: Bar = { ...cpu, metric: "sse.p50", limit: { most: 1.5 }, added: true };

function results(rounds: Record<string, number[]>, name: string): Results {
  const all = new Results();
  for (const [relay, values] of Object.entries(rounds)) {
    values.forEach((value, round) =>
      all.add({ scenario: "sse", round, relay, numbers: { [name]: value }, problems: [] })
    );
  }
  return all;
}

Deno.test("every bar names a metric of its scenario", () => {
  for (const bar of BARS) {
    const metric = METRICS.find(({ name }) => name === bar.metric);
    assert.equal(metric?.scenario, bar.scenario, bar.text);
  }
});

Deno.test("a bar is met at its limit and missed above it, on the median of paired ratios", () => {
  const at = judge(cpu, results({ nginx: [10, 10, 10], router: [18, 90, 1] }, "sse.cpu"), "router");
  assert.equal(at.outcome, "met");
  assert.deepEqual(at.spread, { min: 0.1, median: 1.8, max: 9 });
  assert.equal(
    judge(cpu, results({ nginx: [10], router: [18.1] }, "sse.cpu"), "router").outcome,
    "missed",
  );
});

Deno.test("a bar with a least value is missed below it", () => {
  const least: Bar = { ...cpu, limit: { least: 0.3 } };
  const seen = results({ nginx: [100], router: [29] }, "sse.cpu");
  assert.equal(judge(least, seen, "router").outcome, "missed");
  assert.equal(judge({ ...least, limit: { least: 0.29 } }, seen, "router").outcome, "met");
});

Deno.test("added latency is what is above direct, and the whole is told beside it", () => {
  const seen = results({ direct: [100], nginx: [140], router: [170] }, "sse.p50");
  const verdict = judge(added, seen, "router");
  assert.equal(verdict.outcome, "missed");
  assert.equal(verdict.spread?.median, 1.75);
  assert.match(verdict.words, /whole latency 1\.21x/);
});

Deno.test("where nginx adds only noise the whole is judged, and the words say so", () => {
  const seen = results({ direct: [100], nginx: [99], router: [120] }, "sse.p50");
  const verdict = judge(added, seen, "router");
  assert.equal(verdict.outcome, "met");
  assert.match(verdict.words, /what nginx adds is below 5 us/);
});

Deno.test("an invalid turn gives no number, only its reason", () => {
  const seen = results({ nginx: [10] }, "sse.cpu");
  seen.add({
    scenario: "sse",
    round: 0,
    relay: "router",
    numbers: counting({ numbers: { "sse.cpu": 1 }, problems: ["an event out of order"] }),
    problems: ["an event out of order, missing or twice"],
  });
  const verdict = judge(cpu, seen, "router");
  assert.equal(verdict.outcome, "unmeasured");
  assert.match(verdict.words, /router: an event out of order/);
  assert.match(judge(cpu, new Results(), "router").words, /router was not run/);
});

Deno.test("a round that is missing on one side is left out of the pairs and told", () => {
  const seen = results({ nginx: [10, 10], router: [10] }, "sse.cpu");
  const verdict = judge(cpu, seen, "router");
  assert.equal(verdict.spread?.median, 1);
  assert.match(verdict.words, /1 of 2 rounds/);
});

Deno.test("a verdict from a machine that others used says so", () => {
  const seen = results({ nginx: [10] }, "sse.cpu");
  seen.add({
    scenario: "sse",
    round: 0,
    relay: "router",
    numbers: { "sse.cpu": 10, "sse.others_busy": 0.6 },
    problems: [],
  });
  assert.match(judge(cpu, seen, "router").words, /NOISY: other programs used up to 60 %/);
});
