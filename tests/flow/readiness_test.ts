import assert from "node:assert/strict";
import { type Engine, startEngine } from "../fixtures/engine.ts";
import { exchange, parseResponse } from "../fixtures/raw_client.ts";
import { startRouter, type TestRouter, UPSTREAMS } from "../support/router.ts";
import { MODEL } from "../support/router_toml.ts";
import { ask, askBody, CHAT, MESSAGES, StreamReader } from "../support/stream_reader.ts";
import { until, within } from "../support/wait.ts";

async function answered(port: number, path = CHAT) {
  const got = await within("an answer", exchange(port, ask(path)));
  const response = parseResponse(got.bytes);
  assert.ok(response !== null);
  return response;
}

async function readyz(router: TestRouter): Promise<number> {
  const answer = await fetch(`http://127.0.0.1:${router.adminPort}/readyz`);
  await answer.body?.cancel();
  return answer.status;
}

const stateOf = async (router: TestRouter) => (await router.status()).tiers[0]?.members[0];

async function withRouter(
  upstream: (typeof UPSTREAMS)[number],
  run: (router: TestRouter, engine: Engine) => Promise<void>,
  before: (engine: Engine) => void = () => {},
) {
  const engine = await startEngine();
  before(engine);
  try {
    await using router = await startRouter({ members: [engine.port], upstream, waitReady: false });
    await run(router, engine);
    await router.quiet();
  } finally {
    await engine.close();
  }
}

for (const upstream of UPSTREAMS) {
  Deno.test(`another model than pinned: 503, and the status says what is there, over ${upstream}`, async () => {
    await withRouter(upstream, async (router, engine) => {
      await until(
        "the mismatch is seen",
        async () => (await stateOf(router))?.state === "identity_mismatch",
      );
      assert.equal(await readyz(router), 503);
      assert.match((await stateOf(router))?.observed ?? "", /org\/another/);
      assert.equal((await stateOf(router))?.expected, MODEL);
      for (const path of [CHAT, MESSAGES]) {
        const answer = await answered(router.port, path);
        assert.equal(answer.status, 503);
        assert.equal(answer.header("x-anvil-code"), "tier_not_ready");
        assert.match(answer.header("retry-after") ?? "", /^[1-9]\d*$/);
        assert.equal(answer.header("x-should-retry"), undefined);
        assert.doesNotMatch(answer.text, /another/, "clients are told nothing of the member");
      }
      assert.deepEqual(engine.counts.posts, {});
      // The right model comes, goes, and comes again.
      for (let turn = 0; turn < 2; turn++) {
        engine.setModel(MODEL);
        await router.ready();
        assert.equal(await readyz(router), 200);
        assert.equal((await answered(router.port)).status, 200);
        engine.setModel(MODEL, "org/second");
        await until("two models are not the one", async () => await readyz(router) === 503);
      }
      engine.setModel();
      await until("no model", async () => /no model/.test((await stateOf(router))?.observed ?? ""));
      const posts = engine.counts.posts[CHAT];
      assert.equal(posts, 2);
    }, (engine) => engine.setModel("org/another"));
  });

  Deno.test(`an engine that goes and comes back, over ${upstream}`, async () => {
    await withRouter(upstream, async (router, engine) => {
      await router.ready();
      assert.equal((await answered(router.port)).status, 200);
      engine.stopListening();
      await until("it is seen", async () => {
        // Kept connections may still serve a few; then: not sent, or not ready. Never anything else.
        const answer = await answered(router.port);
        assert.ok([200, 502, 503].includes(answer.status), `${answer.status}`);
        if (answer.status === 502) assert.match(answer.text, /not sent/);
        return answer.status === 503;
      });
      assert.equal(await readyz(router), 503);
      assert.equal((await stateOf(router))?.state, "unreachable");
      await engine.listenAgain();
      await router.ready();
      assert.equal((await answered(router.port)).status, 200);
    });
  });
}

Deno.test("a probe that cannot be read is no proof; neither is an error", async () => {
  await withRouter("http1", async (router, engine) => {
    for (const fault of ["500", "500-html", "bad-head", "fin-at;byte=150", "hang"]) {
      engine.setFault(null);
      await router.ready();
      engine.setFault(fault, { on: "get" });
      await until(fault, async () => await readyz(router) === 503, 15_000);
    }
    engine.setFault(null);
    await router.ready();
  });
});

Deno.test("a busy engine is not an unhealthy one", async () => {
  const engine = await startEngine();
  try {
    await using router = await startRouter({
      members: [engine.port],
      probes: { interval_ms: 100, timeout_ms: 100 },
    });
    const slow = { "x-fixture-fault": "slow-body;ms=20" };
    const body = askBody({ stream: true, max_tokens: 200 });
    using reader = await StreamReader.open(router.port, ask(CHAT, body, slow));
    assert.ok(await reader.readUntil("Anvil token 1"));
    engine.setFault("hang", { on: "get" });
    // Longer than the silence that makes an idle member unreachable.
    await reader.readUntil(' 60"');
    assert.equal(await readyz(router), 200);
    reader.close();
    await until("idle and silent is not ready", async () => await readyz(router) === 503);
  } finally {
    await engine.close();
  }
});
