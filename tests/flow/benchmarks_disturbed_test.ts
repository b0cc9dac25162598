import assert from "node:assert/strict";
import { sha256 } from "../../lib/host/digest.ts";
import { FakeDisk } from "../../lib/testing/fake_disk.ts";
import { tempDir } from "../../lib/testing/temp_dir.ts";
import { type Engine, startEngine } from "../fixtures/engine.ts";
import { DOCKER } from "../fixtures/serves.ts";
import { type AgentRig, startAgentRig } from "../support/agent.ts";
import { benchTopology, memberToml, resultOf, run, standing } from "../support/bench_rig.ts";
import { ChangeWorld, servesOf } from "../support/change_world.ts";
import { startServesRig } from "../support/serves_rig.ts";
import { until } from "../support/wait.ts";

const ASK = { target: { kind: "member", name: "bench" }, corpus: "chat", top_logprobs: 0 };
const ENTER = { input: { mode: "studio" }, confirm: true };
const MODEL = "example-org/example-8b";

const posts = (engine: Engine) =>
  engine.events.filter((one) => one.kind === "request" && one.method === "POST").length;

/** An agent that changes a world and measures an engine; `hold` keeps each start waiting. */
async function started(
  folder: string,
  engine: Engine,
  world: ChangeWorld,
  hold?: () => Promise<void>,
): Promise<AgentRig> {
  await Deno.writeTextFile(`${folder}/topology.toml`, benchTopology());
  const topology = JSON.stringify(`${folder}/topology.toml`);
  return await startAgentRig(folder, [], {
    roles: ["serving", "evaluation"],
    serves: servesOf(world, hold),
    toml: `[limits]\ndrain_seconds = 0\n[benchmarks]\ntopology = ${topology}\n` +
      memberToml("bench", engine.port),
  });
}

async function live(rig: AgentRig): Promise<unknown> {
  return resultOf(await rig.call("benchmarks.status", { input: {} }))["live"];
}

async function withWorld(
  test: (at: {
    readonly folder: string;
    readonly engine: Engine;
    readonly world: ChangeWorld;
  }) => Promise<void>,
): Promise<void> {
  await using dir = await tempDir();
  const engine = await startEngine({ tokens: 20, rate: 100 });
  try {
    await test({ folder: dir.path, engine, world: new ChangeWorld(new FakeDisk()) });
  } finally {
    await engine.close();
  }
}

Deno.test("a mode change says which benchmark it ends, ends it before its first step, and goes on", async () => {
  await withWorld(async ({ folder, engine, world }) => {
    let underWay: unknown = "nobody looked";
    await using rig: AgentRig = await started(folder, engine, world, async () => {
      underWay = [await live(rig), engine.open];
    });
    const asked = run(rig, ASK);
    await until("some are answered", () => engine.counts.completed >= 2);
    const dry = resultOf(await rig.call("mode.enter", { ...ENTER, dry_run: true }));
    assert.equal(dry["ends_benchmark"], "bench-000001");
    assert.equal(await live(rig), "bench-000001", "a plan ends nothing");
    const entered = resultOf(await rig.call("mode.enter", ENTER, { key: "enter-001" }));
    assert.equal(entered["change"], "000001-enter");
    assert.deepEqual(underWay, [null, 0], "nothing was measured while it changed");
    const ended = await asked;
    assert.equal(ended.code, "benchmark_conditions_changed");
    assert.match(String(ended.body["detail"]), /enter studio.*run it anew/);
    assert.ok(rig.said.some((line) => /gives way to/.test(line) && /enter studio/.test(line)));
    const told = await standing(rig, "bench-000001");
    assert.deepEqual(
      [told["state"], told["ended_by"], told["evidence"]],
      ["conditions_changed", "enter studio", null],
    );
    assert.ok((told["requests"] as { completed: number }).completed >= 2, "and shown all the same");
    const resumed = await run(rig, { resume: "bench-000001" });
    assert.equal(resumed.code, "benchmark_conditions_changed");
    const nothing = resultOf(
      await rig.call("mode.enter", { ...ENTER, dry_run: true }),
    );
    assert.deepEqual([nothing["steps"], nothing["ends_benchmark"]], [[], null]);
  });
});

Deno.test("a change to which nothing is left to do, or that is refused, ends no benchmark", async () => {
  await withWorld(async ({ folder, engine, world }) => {
    await using rig = await started(folder, engine, world);
    const asked = run(rig, ASK);
    await until("some are answered", () => engine.counts.completed >= 1);
    const out = { input: { mode: "studio", drain_seconds: 0 }, confirm: true };
    resultOf(await rig.call("mode.leave", out, { key: "leave-001" }));
    world.tooLarge.add("studio");
    assert.equal((await rig.call("mode.enter", ENTER, { key: "enter-001" })).status >= 400, true);
    assert.equal((await asked).status, 200);
  });
});

Deno.test("begun in the same moment, one of them is alone: never both at work", async () => {
  for (const first of ["benchmark", "neither"] as const) {
    await withWorld(async ({ folder, engine, world }) => {
      const seen: number[] = [];
      await using rig: AgentRig = await started(folder, engine, world, async () => {
        // What was cut off on our side is noticed by the engine a little later.
        await until("what was under way is cut off", () => engine.open === 0);
        seen.push(posts(engine));
        await new Promise((resolve) => setTimeout(resolve, 400));
        seen.push(posts(engine));
      });
      const benchmark = run(rig, ASK);
      if (first === "benchmark") {
        const begun = `${folder}/state/benchmarks/bench-000001/journal.jsonl`;
        await until("it is begun, and nothing asked", () => {
          try {
            return Deno.statSync(begun).size > 0;
          } catch {
            return false;
          }
        });
      }
      resultOf(await rig.call("mode.enter", ENTER, { key: "enter-001" }));
      assert.equal(seen.length, 2, "the change was looked into");
      assert.equal(seen[0], seen[1], "no request in the middle of a change");
      const codes = first === "benchmark"
        ? ["benchmark_conditions_changed"]
        : ["benchmark_conditions_changed", "host_busy", null];
      assert.ok(codes.includes((await benchmark).code));
    });
  }
});

Deno.test("after a restart in the middle of a change nothing is measured, and no half is gone on with", async () => {
  await withWorld(async ({ folder, engine, world }) => {
    {
      const first = await started(folder, engine, world);
      const asked = run(first, ASK);
      await until("some are answered", () => engine.counts.completed >= 2);
      await first[Symbol.asyncDispose]();
      assert.equal((await asked).code, "benchmark_stopped");
    }
    {
      const starting = Promise.withResolvers<void>();
      const second = await started(folder, engine, world, () => {
        starting.resolve();
        return new Promise(() => {});
      });
      const entering = second.call("mode.enter", ENTER, { key: "enter-001" });
      await starting.promise;
      await second[Symbol.asyncDispose]();
      assert.equal((await entering).code, "change_interrupted");
    }
    const gate = Promise.withResolvers<void>();
    const before = posts(engine);
    await using rig = await started(folder, engine, world, () => gate.promise);
    // The first request that the new agent hears: the change has not taken a step yet.
    assert.equal((await run(rig, { resume: "bench-000001" })).code, "host_busy");
    assert.equal((await run(rig, ASK)).code, "host_busy");
    gate.resolve();
    await until("the start went on with it", async () => {
      const { body } = await rig.call("mode.status", { input: {} });
      return (body["result"] as { change: { state: string } }).change.state === "reached";
    }, 60_000);
    // The change is over on disk a moment before it lets the host go.
    let resumed: string | null = null;
    await until("the host is free", async () => {
      resumed = (await run(rig, { resume: "bench-000001" })).code;
      return resumed !== "host_busy";
    });
    assert.equal(resumed, "benchmark_conditions_changed", "half of it was measured before");
    assert.equal(posts(engine), before);
    assert.equal((await run(rig, ASK)).status, 200, "and a new one measures the host as it is");
  });
});

Deno.test("what needs the host still is over before a change leaves a trace, or there is no change", async () => {
  const world = new ChangeWorld(new FakeDisk());
  const traces: unknown[] = [];
  let refused = true;
  const { conductor, store, survey } = world.life(async (what) => {
    traces.push([what, await store.names()]);
    return refused
      ? { kind: "refused", code: "benchmark_not_over", detail: "not over" }
      : { kind: "alone", [Symbol.dispose]: () => void traces.push("released") };
  });
  const { planEnter } = await import("../../lib/serves/machines/mode.ts");
  const { takeSurvey } = await import("../../lib/serves/machines/survey.ts");
  const begin = () =>
    conductor.begin(
      {
        plan: async (signal) => {
          const seen = await takeSurvey(survey, signal);
          assert.ok(seen.kind === "survey");
          return await planEnter(seen, { mode: "studio", drainSeconds: 0 }, survey, signal);
        },
        ...{ expected: null, serves: world.serves, config: null, run: null },
      },
      () => {},
      new AbortController().signal,
    );
  assert.equal((await begin()).kind, "refused");
  assert.deepEqual([await store.names(), world.host.happened], [[], []]);
  refused = false;
  assert.equal((await begin()).kind, "ended");
  assert.deepEqual(traces, [["enter studio", []], ["enter studio", []], "released"]);
});

/** A serve that is measured, one on its device and one on another; all run. */
async function withServes(
  test: (engine: Engine, rig: AgentRig, folder: string) => Promise<void>,
): Promise<void> {
  await using dir = await tempDir();
  const engine = await startEngine({ models: [MODEL], tokens: 20, rate: 100 });
  try {
    const [head = "", row = ""] = DOCKER.split(/(?<=schema = 1\n)/);
    const other = (name: string, port: number, device: string) =>
      row.replaceAll("8001", String(port)).replace('"primary"', `"${name}"`)
        .replace("anvil-primary", `anvil-${name}`).replace('tier = "primary"', `tier = "${name}"`)
        .replace('"gpu-0"', `"${device}"`);
    const manifest = head + row.replaceAll("8001", String(engine.port)) +
      other("beside", 8002, "gpu-0") + other("apart", 8003, "gpu-1");
    const toml = `[benchmarks]\ntopology = ${JSON.stringify(dir.at("topology.toml"))}\n`;
    await using rig = await startServesRig(dir.path, manifest, toml);
    for (const serve of ["primary", "beside", "apart"]) {
      resultOf(await rig.agent.call("serves.up", { input: { serve } }, { key: `first-${serve}` }));
    }
    await test(engine, rig.agent, dir.path);
  } finally {
    await engine.close();
  }
}

/** How a benchmark of `primary` ends when `act` happens in its middle. */
async function disturbedBy(
  engine: Engine,
  rig: AgentRig,
  act: () => Promise<unknown>,
): Promise<string | null> {
  const ask = { target: { kind: "serve", name: "primary" }, corpus: "chat", top_logprobs: 0 };
  const before = engine.counts.completed;
  const asked = run(rig, ask);
  await until("some are answered", () => engine.counts.completed > before + 1);
  await act();
  return (await asked).code;
}

Deno.test("a serve that is measured, or shares its device, is stopped and started over a benchmark's end", async () => {
  await withServes(async (engine, rig) => {
    let keys = 0;
    const call = (name: string, serve: string, more: object = { confirm: true }) => async () =>
      resultOf(await rig.call(name, { input: { serve }, ...more }, { key: `serve-key-${keys++}` }));
    const ends = (act: () => Promise<unknown>) => disturbedBy(engine, rig, act);
    assert.equal(
      await ends(async () => {
        const dry = await call("serves.restart", "beside", { dry_run: true })();
        assert.equal(dry["ends_benchmark"], "bench-000001");
        const apart = await call("serves.restart", "apart", { dry_run: true })();
        assert.equal(apart["ends_benchmark"], null);
        await call("serves.up", "beside", {})(); // it runs already: nothing is started
        await call("serves.restart", "apart")();
      }),
      null,
    );
    assert.equal(await ends(call("serves.down", "beside")), "benchmark_conditions_changed");
    assert.equal(await ends(call("serves.up", "beside", {})), "benchmark_conditions_changed");
    assert.equal(await ends(call("serves.restart", "primary")), "benchmark_conditions_changed");
    const told = await standing(rig, "bench-000004");
    assert.equal(told["ended_by"], "restart primary");
  });
});

Deno.test("another declaration of what is measured ends a benchmark; the same one again does not", async () => {
  await withServes(async (engine, rig, folder) => {
    const text = await Deno.readTextFile(`${folder}/serves.toml`);
    const install = (to: string, more: object = { confirm: true }) =>
      rig.call("config.install", {
        input: { kind: "serves", text: to, expected: sha256(text).toHex() },
        ...more,
      }, { key: `install-key-${to.length}` });
    const changed = text.replace("stop_grace_seconds = 30", "stop_grace_seconds = 31");
    assert.equal(await disturbedBy(engine, rig, () => install(text)), null);
    const code = await disturbedBy(engine, rig, async () => {
      const dry = resultOf(await install(changed, { dry_run: true }));
      assert.match(String(dry["notes"]), /bench-000002 is being measured here and will end/);
      resultOf(
        await rig.call("config.install", {
          input: { kind: "serves", text: changed, expected: sha256(text).toHex() },
          confirm: true,
        }, { key: "install-key-changed" }),
      );
    });
    assert.equal(code, "benchmark_conditions_changed");
  });
});
