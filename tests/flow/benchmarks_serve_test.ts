import assert from "node:assert/strict";
import { tempDir } from "../../lib/testing/temp_dir.ts";
import { startEngine } from "../fixtures/engine.ts";
import { DIGEST, DOCKER } from "../fixtures/serves.ts";
import { fetchSide, measured, run } from "../support/bench_rig.ts";
import { startServesRig } from "../support/serves_rig.ts";

const MODEL = "example-org/example-8b";

Deno.test("benchmarks of a serve: proven to be the declared one, named as its manifest names it", async () => {
  await using dir = await tempDir();
  const engine = await startEngine({ models: [MODEL], tokens: 6 });
  try {
    const manifest = DOCKER.replaceAll("8001", String(engine.port));
    const toml = `[benchmarks]\ntopology = ${JSON.stringify(dir.at("topology.toml"))}\n`;
    await using rig = await startServesRig(dir.path, manifest, toml);
    const ask = { target: { kind: "serve", name: "primary" }, corpus: "code" };
    const down = await run(rig.agent, ask);
    assert.equal(down.code, "benchmark_target_unproven", "nobody is its process yet");
    assert.equal(engine.counts.completed, 0, "so whoever listens there is not asked");
    await rig.agent.call("serves.up", { input: { serve: "primary" } }, { key: "bench-serve-up" });
    const { evidence: { body } } = await fetchSide(rig.agent, await measured(rig.agent, ask));
    assert.equal(engine.counts.completed, 10);
    assert.deepEqual(body.through, { kind: "member", serve: "primary", tier: "primary" });
    const { model, revision, quantization, engine: made, image_digest } = body.subject;
    assert.deepEqual(
      [model, revision, quantization, made, image_digest],
      [MODEL, "0f1e2d3c", null, "vllm", DIGEST],
    );
    assert.match(body.subject.config_digest ?? "", /^[0-9a-f]{64}$/);
    assert.deepEqual([body.host.node, body.host.runtime], ["gpu-a", "docker"]);
    const other = await run(rig.agent, { ...ask, target: { kind: "serve", name: "second" } });
    assert.equal(other.code, "benchmark_target_unknown");

    const begun = await run(rig.agent, {
      ...ask,
      deadline_seconds: 1,
      corpus: "chat",
      repeats: 100,
    });
    assert.equal(begun.code, "benchmark_deadline");
    await Deno.writeTextFile(dir.at("serves.toml"), manifest.replace("0f1e2d3c", "99999999"));
    const resumed = await run(rig.agent, { resume: "bench-000002" });
    assert.equal(
      resumed.code,
      "benchmark_subject_changed",
      "half of one model and half of another",
    );
  } finally {
    await engine.close();
  }
});
