import assert from "node:assert/strict";
import { tempDir } from "../../lib/testing/temp_dir.ts";
import { type Engine, startEngine } from "../fixtures/engine.ts";
import type { AgentRig } from "../support/agent.ts";
import { benchTopology, memberToml, startBenchRig } from "../support/bench_rig.ts";
import { ServesOperator } from "../support/serves_operator.ts";
import { until } from "../support/wait.ts";

const HERE = "--target host:gpu-a";
const ASK = `benchmarks run --of member:chat --corpus chat ${HERE}`;

async function withOperator(
  act: (operator: ServesOperator, engine: Engine, agent: AgentRig) => Promise<void>,
  rate = 0,
): Promise<void> {
  await using dir = await tempDir();
  const engine = await startEngine({ tokens: 20, rate });
  try {
    await using agent = await startBenchRig(dir.path, memberToml("chat", engine.port), {
      topology: benchTopology("opportunistic"),
    });
    await using operator = await ServesOperator.over([["gpu-a", agent.url]]);
    await act(operator, engine, agent);
  } finally {
    await engine.close();
  }
}

Deno.test("benchmarks run: planned, followed, told with its conditions, looked at afterwards", async () => {
  await withOperator(async (operator, engine) => {
    const dry = await operator.run(`${ASK} --dry-run`);
    assert.equal(dry.code, 0, dry.err);
    assert.match(
      dry.out,
      /^measure org\/model on gpu-a\n\nmodel +org\/model r1 q8\nengine +fixture$/m,
    );
    assert.match(dry.out, /^requests +12 of 12, 1 at a time, at most 96 tokens each$/m);
    assert.equal(engine.counts.completed, 0);
    const ran = await operator.run(ASK);
    assert.equal(ran.code, 0, ran.err);
    assert.match(
      ran.err,
      /^gpu-a: [\d.]+ s: bench-000001: \d+ of 12 answered$/m,
      "it was followed",
    );
    assert.match(ran.out, /^bench-000001 on gpu-a: ev-[0-9a-f]{64}$/m);
    assert.match(ran.out, /^requests +12 sent, 12 completed, 0 failed, 0 cut off$/m);
    assert.match(ran.out, /^measured +opportunistic; power /m, "no figure without its conditions");
    const status = await operator.run(`benchmarks status ${HERE}`);
    assert.match(status.out, /^bench-000001 +complete +org\/model +chat +12\/12 +0 /m);
    assert.match(status.out, /^measured +opportunistic; power /m);
    const result = await operator.run(`benchmarks result bench-000001 ${HERE}`);
    assert.match(result.out, /^conditions +opportunistic; power /m);
    const json = JSON.parse(
      (await operator.run(`benchmarks result bench-000001 ${HERE} --json`)).out,
    );
    assert.equal(json.ok, true);
    const bad = await operator.run(`benchmarks run --of chat --corpus chat ${HERE}`);
    assert.equal(bad.code, 2);
  }, 100);
});

Deno.test("benchmarks cancel: the run ends, says how to go on, and goes on", async () => {
  await withOperator(async (operator, engine) => {
    const asked = operator.run(ASK);
    await until("it runs", () => engine.counts.completed >= 2);
    const cancelled = await operator.run(`benchmarks cancel ${HERE}`);
    assert.equal(cancelled.code, 0, cancelled.err);
    assert.match(cancelled.out, /^bench-000001 on gpu-a is over$/m);
    const ran = await asked;
    assert.equal(ran.code, 1);
    assert.match(ran.out + ran.err, /benchmark_cancelled/);
    assert.match(ran.out + ran.err, /benchmarks status --target host:gpu-a/);
    const part = await operator.run(`benchmarks status ${HERE}`);
    assert.match(part.out, /^bench-000001 +cancelled /m);
    assert.match(part.out, /^next: benchmarks run --resume bench-000001$/m);
    const resumed = await operator.run(`benchmarks run --resume bench-000001 ${HERE}`);
    assert.equal(resumed.code, 0, resumed.err);
    assert.match(resumed.err, /^go on with bench-000001: org\/model on gpu-a$/m);
    const again = await operator.run(`benchmarks cancel ${HERE}`);
    assert.equal(again.code, 1);
    assert.match(again.out + again.err, /benchmark_not_running/);
  }, 60);
});
