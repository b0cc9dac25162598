import assert from "node:assert/strict";
import { tempDir } from "../../lib/testing/temp_dir.ts";
import { startEngine } from "../fixtures/engine.ts";
import { operator as operatorAlone } from "../fixtures/operator_cli.ts";
import { benchTopology, memberToml, startBenchRig } from "../support/bench_rig.ts";
import { ServesOperator } from "../support/serves_operator.ts";

const HERE = "--target host:gpu-a";

Deno.test("evidence: measured by an agent, fetched, compared and published by the operator", async () => {
  await using dir = await tempDir();
  const model = "org/model";
  const good = await startEngine({ kind: "openai-models", models: [model] });
  const wrong = await startEngine({
    kind: "vllm-mlx",
    models: [model],
    defects: [{ when: "five fruits", at: 17, token: " seventeen-and-a-half" }],
  });
  try {
    const members = memberToml("left", good.port, "openai-models", "vllm") +
      memberToml("right", wrong.port, "vllm-mlx", "mlx");
    const topology = benchTopology("opportunistic");
    await using agent = await startBenchRig(dir.path, members, { topology });
    await using operator = await ServesOperator.over([["gpu-a", agent.url]]);
    const home = operator.rig.folder.at("home");
    // Commands without a target take no topology.
    const local = (words: string) => operatorAlone(home, ...words.split(" "));
    const ids: string[] = [];
    for (const [at, member] of ["left", "right"].entries()) {
      const ran = await operator.run(`benchmarks run --of member:${member} --corpus chat ${HERE}`);
      assert.equal(ran.code, 0, ran.err);
      const fetched = await operator.run(`evidence fetch --id bench-00000${at + 1} ${HERE}`);
      assert.equal(fetched.code, 0, fetched.err);
      const [, id = ""] = /^(ev-[0-9a-f]{64}) kept; records: kept\n$/.exec(fetched.out) ?? [];
      assert.notEqual(id, "", fetched.out);
      ids.push(id);
    }
    const [left, right] = ids;
    const verified = await local("evidence verify");
    assert.equal(verified.code, 0, verified.out);
    const parity = await local(`evidence parity ${left} ${right}`);
    assert.equal(parity.code, 1, parity.err);
    assert.match(
      parity.out,
      /^first divergence +list-fruit, at token 17: " 18" \/ " seventeen-and-a-half"/m,
    );
    assert.match(parity.out, /^left under +opportunistic; power /m);
    const to = operator.rig.folder.at("published");
    const published = await local(`evidence publish --all --to ${to}`);
    assert.equal(published.code, 0, published.err);
    const page = await Deno.readTextFile(`${to}/index.md`);
    assert.match(page, /^### Opportunistic hosts/m);
    assert.doesNotMatch(page, /^### Continuous hosts/m);
    assert.match(page, /list-fruit at token 17/);
  } finally {
    await good.close();
    await wrong.close();
  }
});
