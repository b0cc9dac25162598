import assert from "node:assert/strict";
import { type Engine, startEngine } from "../fixtures/engine.ts";
import { exchange, parseResponse } from "../fixtures/raw_client.ts";
import { type RouterOptions, startRouter, type TestRouter } from "../support/router.ts";
import { ask, askBody, CHAT, MESSAGES, StreamReader } from "../support/stream_reader.ts";
import { until, within } from "../support/wait.ts";

async function withRouter(
  options: Omit<RouterOptions, "members">,
  run: (router: TestRouter, engine: Engine) => Promise<void>,
) {
  const engine = await startEngine();
  try {
    await using router = await startRouter({ ...options, members: [engine.port] });
    await run(router, engine);
    await router.quiet();
  } finally {
    await engine.close();
  }
}

const hang = { "x-fixture-fault": "hang" };

async function answered(port: number, path = CHAT) {
  const got = await within("an answer", exchange(port, ask(path)));
  const response = parseResponse(got.bytes);
  assert.ok(response !== null);
  return response;
}

const tierOf = (router: TestRouter) => {
  const [tier] = router.router.core.tiers.values();
  assert.ok(tier);
  return tier.report();
};

Deno.test("two at work, two wait in order, the fifth is told when to come again", async () => {
  await withRouter(
    { admission: { in_flight: 2, queue: 2, queue_seconds: 60 } },
    async (router, engine) => {
      using first = await StreamReader.open(router.port, ask(`${CHAT}?n=1`, askBody(), hang));
      using second = await StreamReader.open(router.port, ask(`${CHAT}?n=2`, askBody(), hang));
      await until("two are at work", () => tierOf(router).in_flight === 2);
      const third = exchange(router.port, ask(`${CHAT}?n=3`));
      await until("the third waits", () => tierOf(router).waiting === 1);
      using fourth = await StreamReader.open(router.port, ask(`${CHAT}?n=4`));
      await until("the fourth waits", () => tierOf(router).waiting === 2);
      for (const path of [CHAT, MESSAGES]) {
        const fifth = await answered(router.port, path);
        assert.equal(fifth.status, 429);
        assert.equal(fifth.header("x-anvil-code"), "queue_full");
        assert.match(fifth.header("retry-after") ?? "", /^[1-9]\d*$/);
        assert.equal(fifth.header("x-should-retry"), undefined);
        const { error } = JSON.parse(fifth.text);
        assert.equal(error.type, "rate_limit_error");
      }
      const status = await router.status();
      assert.equal(status.open, 4);
      assert.equal(status.tiers[0]?.in_flight, 2);
      assert.equal(status.tiers[0]?.waiting, 2);
      // A waiter whose client leaves is dropped, and never sent.
      fourth.close();
      await until("the fourth is gone", () => tierOf(router).waiting === 1);
      first.close();
      const response = parseResponse((await within("the third", third)).bytes);
      assert.equal(response?.status, 200);
      second.close();
      await router.quiet();
      const targets = engine.events.flatMap((event) =>
        event.kind === "request" && event.method === "POST" ? [event.target] : []
      );
      assert.deepEqual(targets, [`${CHAT}?n=1`, `${CHAT}?n=2`, `${CHAT}?n=3`]);
      const outcomes = router.decisions.map(({ outcome, dispatched }) =>
        `${outcome} ${dispatched}`
      );
      assert.deepEqual(outcomes.sort(), [
        "client_closed 0",
        "client_closed 1",
        "client_closed 1",
        "completed 1",
        "refused_busy 0",
        "refused_busy 0",
      ]);
      const waited = router.decisions.find(({ outcome }) => outcome === "completed");
      assert.ok((waited?.queue_ms ?? 0) > 0);
    },
  );
});

Deno.test("a wait that is over: 429", async () => {
  await withRouter(
    { admission: { in_flight: 1, queue: 4, queue_seconds: 1 } },
    async (router, engine) => {
      using busy = await StreamReader.open(router.port, ask(CHAT, askBody(), hang));
      await until("one is at work", () => tierOf(router).in_flight === 1);
      const late = await answered(router.port);
      assert.equal(late.status, 429);
      assert.equal(late.header("x-anvil-code"), "queue_timeout");
      assert.match(late.header("retry-after") ?? "", /^[1-9]\d*$/);
      assert.equal(tierOf(router).waiting, 0);
      assert.equal(engine.counts.posts[CHAT], 1);
      busy.close();
    },
  );
});

Deno.test("no more requests than limits.requests are open, the admin side answers all the same", async () => {
  await withRouter({ limits: { requests: 2 } }, async (router) => {
    using one = await StreamReader.open(router.port, ask(CHAT, askBody(), hang));
    using two = await StreamReader.open(router.port, ask(CHAT, askBody(), hang));
    await until("two are open", () => router.router.core.open.size === 2);
    const third = await answered(router.port);
    assert.equal(third.status, 429);
    assert.equal(third.header("x-anvil-code"), "router_saturated");
    assert.equal((await router.status()).open, 2);
    one.close();
    two.close();
  });
});

Deno.test("members take turns, and a member that is not ready gets nothing", async () => {
  const engines = [await startEngine(), await startEngine(), await startEngine()];
  const [a, b, c] = engines as [Engine, Engine, Engine];
  try {
    c.setModel("org/another");
    await using router = await startRouter({ members: [a.port, b.port, c.port] });
    await until(
      "two are ready, one is wrong",
      () =>
        tierOf(router).members.map(({ state }) => state).join() === "ready,ready,identity_mismatch",
    );
    for (let i = 0; i < 10; i++) assert.equal((await answered(router.port)).status, 200);
    assert.equal(a.counts.posts[CHAT], 5);
    assert.equal(b.counts.posts[CHAT], 5);
    assert.equal(c.counts.posts[CHAT], undefined);
    await router.quiet();
    assert.deepEqual(
      router.decisions.slice(0, 4).map(({ member }) => member),
      [
        "m1",
        "m2",
        "m1",
        "m2",
      ].map((id, index) => router.decisions[index % 2]?.member ?? id),
    );
  } finally {
    for (const engine of engines) await engine.close();
  }
});
