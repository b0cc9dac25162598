import assert from "node:assert/strict";
import { tempDir } from "../../lib/testing/temp_dir.ts";
import { parityOf } from "../../lib/evidence/parity.ts";
import { DEFAULT_THRESHOLDS } from "../../lib/evidence/parity_shape.ts";
import { startEngine } from "../fixtures/engine.ts";
import { fetchSide, measured, memberToml, startBenchRig } from "../support/bench_rig.ts";

Deno.test("parity: the planted defect of one kernel is found, by prompt and by token", async () => {
  await using dir = await tempDir();
  const model = "org/model";
  const good = await startEngine({ kind: "openai-models", models: [model] });
  const wrong = await startEngine({
    kind: "vllm-mlx",
    models: [model],
    defects: [{ when: "five fruits", at: 17, token: " seventeen-and-a-half" }],
  });
  try {
    const toml = memberToml("left", good.port, "openai-models", "vllm") +
      memberToml("right", wrong.port, "vllm-mlx", "mlx");
    await using rig = await startBenchRig(dir.path, toml);
    const ask = (name: string) => ({ target: { kind: "member", name }, corpus: "chat" });
    const left = await fetchSide(rig, await measured(rig, ask("left")));
    const right = await fetchSide(rig, await measured(rig, ask("right")));
    const parity = parityOf(left, right, DEFAULT_THRESHOLDS);
    assert.equal(parity.verdict, "diverge", JSON.stringify(parity.reasons));
    const found = parity.prompts.filter(({ divergence }) => divergence !== null);
    assert.deepEqual(found.map(({ prompt }) => prompt), ["list-fruit"]);
    assert.equal(found[0]?.divergence?.index, 17);
    assert.equal(found[0]?.divergence?.unit, "token");
    assert.deepEqual(
      [found[0]?.divergence?.left, found[0]?.divergence?.right],
      [" 18", " seventeen-and-a-half"],
    );
    const engines = parity.identity.filter(({ path }) => path === "subject.engine");
    assert.equal(engines.length, 1, "that they are two engines is told");
    const same = parityOf(
      left,
      await fetchSide(rig, await measured(rig, ask("left"))),
      DEFAULT_THRESHOLDS,
    );
    assert.equal(same.verdict, "agree", JSON.stringify(same.reasons));
  } finally {
    await good.close();
    await wrong.close();
  }
});
