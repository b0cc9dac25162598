import assert from "node:assert/strict";
import { tempDir } from "../../lib/testing/temp_dir.ts";
import { startEngine } from "../fixtures/engine.ts";
import { AgentProcess } from "../support/agent_process.ts";
import { benchTopology, memberToml } from "../support/bench_rig.ts";
import { type Told, told } from "../support/agent.ts";
import { until } from "../support/wait.ts";

function call(agent: AgentProcess, name: string, input: object, key = "a-read-key"): Promise<Told> {
  return told(fetch(`${agent.url}/v1/operations/${name}`, {
    method: "POST",
    headers: {
      "x-anvil-node": "gpu-a",
      "content-type": "application/json",
      "idempotency-key": key,
    },
    body: JSON.stringify({ input }),
  }));
}

async function standing(agent: AgentProcess): Promise<Record<string, unknown>> {
  const { body } = await call(agent, "benchmarks.status", {});
  const { benchmarks } = body["result"] as { benchmarks: Record<string, unknown>[] };
  return benchmarks[0] ?? {};
}

Deno.test({
  name: "an agent killed -9 in the middle: interrupted; resumed, the rest is asked, and it says so",
  ignore: Deno.build.os !== "linux",
  fn: async () => {
    await using dir = await tempDir();
    const engine = await startEngine({ tokens: 20, rate: 60 });
    const posts = () =>
      engine.events.filter((one) => one.kind === "request" && one.method === "POST").length;
    try {
      await Deno.writeTextFile(dir.at("topology.toml"), benchTopology());
      await Deno.writeTextFile(
        dir.at("agent.toml"),
        `schema = 1\nnode = "gpu-a"\nroles = ["evaluation"]\nlisten = "127.0.0.1:0"\n` +
          `state = "state"\n[benchmarks]\ntopology = "topology.toml"\n` +
          memberToml("chat", engine.port),
      );
      await Deno.mkdir(dir.at("state"));
      const trusted = ["--allow-unauthenticated-loopback"];
      const ask = { target: { kind: "member", name: "chat" }, corpus: "chat" };
      let asked = 0;
      {
        await using agent = await AgentProcess.start(dir.path, trusted);
        const run = call(agent, "benchmarks.run", ask, "killed-key-1").catch(() => null);
        await until("a few are answered", () => engine.counts.completed >= 4, 60_000);
        agent.kill("SIGKILL");
        await agent.finished;
        assert.equal(await run, null, "nobody was told how it ended");
        asked = posts();
      }
      await using agent = await AgentProcess.start(dir.path, trusted);
      const before = await standing(agent);
      assert.equal(before["state"], "interrupted");
      const again = await call(agent, "benchmarks.run", ask, "killed-key-1");
      assert.equal(again.code, "operation_interrupted", "the key tells it, and runs nothing");
      assert.equal(posts(), asked);
      const busy = await call(agent, "benchmarks.cancel", {}, "killed-key-2");
      assert.equal(busy.code, "benchmark_not_running");
      const resumed = await call(agent, "benchmarks.run", { resume: before["id"] }, "killed-key-3");
      assert.equal(resumed.status, 200, JSON.stringify(resumed.body));
      assert.equal(posts(), 12, "each prompt was sent once, over both lives");
      const after = await standing(agent);
      assert.deepEqual([after["state"], after["resumed"], after["left"]], ["complete", 1, 0]);
      const { body } = await call(agent, "benchmarks.result", { id: before["id"] });
      const { evidence } = body["result"] as { evidence: { text: string } };
      const document = JSON.parse(evidence.text);
      assert.equal(document.run.resumed, 1);
      const { sent, completed, cancelled } = document.measures.requests;
      assert.deepEqual([sent, completed + cancelled], [12, 12]);
      assert.ok(cancelled <= 1, "at most the one that was under way");
      assert.equal(document.conditions.pressure.memory_max === null, false, "the machine was seen");
    } finally {
      await engine.close();
    }
  },
});
