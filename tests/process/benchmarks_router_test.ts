import assert from "node:assert/strict";
import { tempDir } from "../../lib/testing/temp_dir.ts";
import { startEngine } from "../fixtures/engine.ts";
import { fetchSide, measured, run, startBenchRig } from "../support/bench_rig.ts";
import { furnish, RouterProcess } from "../support/router_process.ts";
import { ALIAS, MODEL, OBSERVER, TOKEN } from "../support/router_toml.ts";

Deno.test({
  name: "benchmarks through a router: as a client of its own, of the tier that runs, or not at all",
  ignore: Deno.build.os === "windows",
  fn: async () => {
    await using dir = await tempDir();
    await using there = await tempDir();
    const engine = await startEngine({ models: [MODEL], tokens: 8 });
    try {
      const tier = { revision: "r9", engine: "vllm", engine_version: "0.9.1" };
      await furnish(there.path, { members: [engine.port], tier });
      await using router = await RouterProcess.start(there.path);
      await Deno.writeTextFile(dir.at("observer.token"), `${OBSERVER}\n`, { mode: 0o600 });
      await Deno.writeTextFile(dir.at("benchmark.key"), `${TOKEN}\n`, { mode: 0o600 });
      const at = (name: string) => JSON.stringify(dir.at(name));
      const toml =
        `[benchmarks.router]\ndata = "${router.url}"\nkey_file = ${at("benchmark.key")}\n` +
        `[router]\nadmin = "http://127.0.0.1:${router.adminPort}"\n` +
        `token_file = ${at("observer.token")}\nunit = "anvil-router.service"\n` +
        `config = ${JSON.stringify(there.at("router.toml"))}\n`;
      await using rig = await startBenchRig(dir.path, toml);
      const ask = { target: { kind: "alias", name: ALIAS }, corpus: "chat", concurrency: 2 };
      const { evidence: { body } } = await fetchSide(rig, await measured(rig, ask));
      assert.deepEqual(body.measures.requests, {
        sent: 12,
        completed: 12,
        failed: 0,
        cancelled: 0,
      });
      assert.equal(engine.counts.completed, 12);
      assert.ok(body.through.kind === "router");
      assert.deepEqual([body.through.alias, body.through.tier], [ALIAS, "primary"]);
      assert.match(body.through.router_config ?? "", /^[0-9a-f]{64}$/);
      const { model, revision, engine: made, engine_version } = body.subject;
      assert.deepEqual([model, revision, made, engine_version], [MODEL, "r9", "vllm", "0.9.1"]);
      const said = JSON.stringify(body) + rig.said.join();
      assert.ok(!said.includes(TOKEN) && !said.includes(OBSERVER), "no secret in what is kept");

      const unknown = await run(rig, { ...ask, target: { kind: "alias", name: "llm.other" } });
      assert.equal(unknown.code, "benchmark_target_unknown");
      await Deno.chmod(dir.at("benchmark.key"), 0o644);
      assert.equal((await run(rig, ask)).code, "benchmark_key_unusable");
      await Deno.chmod(dir.at("benchmark.key"), 0o600);
      await Deno.writeTextFile(dir.at("benchmark.key"), `${OBSERVER}\n`);
      const shut = (await fetchSide(rig, await measured(rig, ask))).evidence.body;
      assert.deepEqual(shut.measures.errors, [{ code: "http_403", count: 12 }]);
      assert.equal(engine.counts.completed, 12, "the router let nothing through");
      const config = await Deno.readTextFile(there.at("router.toml"));
      await Deno.writeTextFile(there.at("router.toml"), `${config}# edited\n`);
      assert.equal((await run(rig, ask)).code, "benchmark_router_differs");
      await Deno.writeTextFile(there.at("router.toml"), config);
      router.kill("SIGKILL");
      await router.finished;
      assert.equal((await run(rig, ask)).code, "router_unreachable");
    } finally {
      await engine.close();
    }
  },
});
