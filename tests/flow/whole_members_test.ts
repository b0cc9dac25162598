import assert from "node:assert/strict";
import { readConfig } from "../../roles/router/config.ts";
import { type Engine, startEngine } from "../fixtures/engine.ts";
import type { EngineKind } from "../fixtures/identity.ts";
import { exchange, parseResponse } from "../fixtures/raw_client.ts";
import { startRouter, type TestRouter } from "../support/router.ts";
import { MODEL, routerToml } from "../support/router_toml.ts";
import { ask, askBody, CHAT, StreamReader } from "../support/stream_reader.ts";
import { until } from "../support/wait.ts";

async function withMembers(
  count: number,
  run: (router: TestRouter, engines: readonly Engine[]) => Promise<void>,
  before: (engines: readonly Engine[]) => void = () => {},
) {
  const engines = await Promise.all(Array.from({ length: count }, () => startEngine({ rate: 50 })));
  try {
    before(engines);
    await using router = await startRouter({ members: engines.map(({ port }) => port) });
    await until(
      "every member has been probed",
      async () =>
        (await router.status()).tiers[0]?.members.every(({ state }) => state !== "unknown") ===
          true,
    );
    await run(router, engines);
  } finally {
    await Promise.all(engines.map((engine) => engine.close()));
  }
}

const posts = (engine: Engine | undefined) => engine?.counts.posts[CHAT] ?? 0;

async function chat(router: TestRouter): Promise<number> {
  const body = askBody({ max_tokens: 1 });
  const response = parseResponse((await exchange(router.port, ask(CHAT, body))).bytes);
  return response?.status ?? 0;
}

for (const count of [2, 3, 16]) {
  Deno.test(`${count} members: round robin, in declared order`, async () => {
    await withMembers(count, async (router, engines) => {
      for (let turn = 0; turn < count * 2; turn++) assert.equal(await chat(router), 200);
      assert.deepEqual(engines.map(posts), engines.map(() => 2));
      await until("all are recorded", () => router.decisions.length === count * 2);
      const order = router.decisions.map(({ member }) => member);
      assert.deepEqual(order, [...order.slice(0, count), ...order.slice(0, count)]);
      assert.deepEqual(order.slice(0, count), engines.map((_, index) => `m${index + 1}`));
    });
  });
}

Deno.test("a tier takes 1 to 16 members", () => {
  for (const [count, kind] of [[0, "invalid"], [1, "ok"], [16, "ok"], [17, "invalid"]] as const) {
    const members = Array.from({ length: count }, (_, index) => 8000 + index);
    assert.equal(readConfig(routerToml({ members })).kind, kind, `${count}`);
  }
});

Deno.test("a member with another model is never used, and said to be so", async () => {
  await withMembers(3, async (router, engines) => {
    for (let turn = 0; turn < 8; turn++) assert.equal(await chat(router), 200);
    assert.deepEqual(engines.map(posts), [4, 0, 4]);
    const members = (await router.status()).tiers[0]?.members ?? [];
    assert.deepEqual(members.map(({ state }) => state), ["ready", "identity_mismatch", "ready"]);
    assert.deepEqual([members[1]?.expected, members[1]?.observed], [MODEL, '"org/impostor"']);
    assert.ok(router.remarks.some((line) => line.includes("org/impostor")), "loudly");
    engines[1]?.setModel(MODEL);
    await until(
      "the mended one is ready",
      async () => (await router.status()).tiers[0]?.members[1]?.state === "ready",
    );
    for (let turn = 0; turn < 3; turn++) await chat(router);
    assert.equal(posts(engines[1]), 1);
  }, (engines) => engines[1]?.setModel("org/impostor"));
});

Deno.test("a member that dies: its requests fail to their callers, the others take the next ones", async () => {
  await withMembers(3, async (router, engines) => {
    const streams = await Promise.all(
      engines.map(async () => {
        const body = askBody({ stream: true, max_tokens: 50 });
        const stream = await StreamReader.open(router.port, ask(CHAT, body));
        await stream.readUntil("Anvil token 1");
        return stream;
      }),
    );
    assert.deepEqual(engines.map(posts), [1, 1, 1]);
    await engines[1]?.close();
    let cut = 0;
    for (const stream of streams) {
      // Every stream ends in an empty line after one of the two; the connection stays open.
      await stream.readWhile(() => !/\[DONE\]|upstream_truncated/.test(stream.text));
      if (stream.text.includes("upstream_truncated")) cut++;
      stream.close();
    }
    assert.equal(cut, 1);
    await until(
      "the dead one is out",
      async () => (await router.status()).tiers[0]?.members[1]?.state === "unreachable",
    );
    for (let turn = 0; turn < 4; turn++) assert.equal(await chat(router), 200);
    assert.deepEqual(engines.map(posts), [3, 1, 3], "nothing was sent again");
    await router.quiet();
  });
});

/** What the fixture serves for each kind that a tier may declare. */
const KINDS: readonly EngineKind[] = [
  "openai-models",
  "llama-server",
  "mlx-vlm",
  "vllm-mlx",
  "ollama",
  "lmstudio",
  "sglang",
];

for (const kind of KINDS) {
  Deno.test(`identity by ${kind}: ready, another model, none, a broken answer`, async () => {
    const engine = await startEngine({ kind, installed: [MODEL, "org/installed"] });
    try {
      await using router = await startRouter({
        members: [engine.port],
        tier: { identity: { kind } },
        probes: { interval_ms: 100, timeout_ms: 200 },
      });
      const becomes = async (...states: string[]) => {
        await until(`${kind} is ${states}`, async () => {
          const [member] = (await router.status()).tiers[0]?.members ?? [];
          return states.includes(member?.state ?? "");
        });
        assert.equal(await chat(router), states[0] === "ready" ? 200 : 503);
      };
      await becomes("ready");
      engine.setModel("org/other");
      await becomes("identity_mismatch");
      engine.setModel(MODEL);
      await becomes("ready");
      engine.setModel();
      await becomes("identity_mismatch", "unreachable", "unparseable");
      engine.setModel(MODEL);
      await becomes("ready");
      engine.setFault("fin-at;byte=150", { on: "get" });
      await becomes("unparseable", "unreachable");
      engine.setFault("500", { on: "get" });
      await becomes("unreachable");
      engine.setFault("bad-head", { on: "get" });
      await becomes("unreachable");
      engine.setFault(null);
      await becomes("ready");
    } finally {
      await engine.close();
    }
  });
}

Deno.test("engines whose model list lies are refused that kind at load", () => {
  for (const engine of ["mlx_lm", "mlx-vlm", "LM Studio", "ollama", "Ollama"]) {
    const read = (kind: string) =>
      readConfig(routerToml({ members: [1], tier: { engine, identity: { kind } } }));
    const refused = read("openai-models");
    assert.ok(refused.kind === "invalid", engine);
    assert.deepEqual(refused.problems.map(({ code }) => code), ["identity_proves_nothing"]);
    assert.equal(read("ollama").kind, "ok");
  }
});
