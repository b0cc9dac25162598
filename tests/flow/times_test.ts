import assert from "node:assert/strict";
import { type Engine, startEngine } from "../fixtures/engine.ts";
import { eventsOf, exchange, parseResponse } from "../fixtures/raw_client.ts";
import { startRouter, type TestRouter, UPSTREAMS } from "../support/router.ts";
import { scriptedMember } from "../support/scripted_member.ts";
import { ask, askBody, CHAT, MESSAGES, StreamReader } from "../support/stream_reader.ts";
import { pause, until, within } from "../support/wait.ts";

async function withRouter(
  upstream: (typeof UPSTREAMS)[number],
  settings: { timeouts?: Record<string, number>; limits?: Record<string, number> },
  run: (router: TestRouter, engine: Engine) => Promise<void>,
) {
  const engine = await startEngine();
  try {
    await using router = await startRouter({ members: [engine.port], upstream, ...settings });
    await run(router, engine);
    await router.quiet();
  } finally {
    await engine.close();
  }
}

for (const upstream of UPSTREAMS) {
  Deno.test(`silence before the first byte: 504, not to be sent again, over ${upstream}`, async () => {
    await withRouter(upstream, { timeouts: { first_byte_seconds: 1 } }, async (router, engine) => {
      engine.setFault("hang");
      const both = [[CHAT, "timeout"], [MESSAGES, "timeout_error"]] as const;
      await Promise.all(both.map(async ([path, type]) => {
        const got = await within("504", exchange(router.port, ask(path)), 5000);
        const response = parseResponse(got.bytes);
        assert.equal(response?.status, 504);
        assert.equal(response?.header("x-should-retry"), "false");
        assert.equal(response?.header("x-anvil-code"), "upstream_first_byte_timeout");
        assert.equal(JSON.parse(response?.text ?? "").error.type, type);
      }));
      await until(
        "the engine saw both close",
        () =>
          engine.events.filter((e) => e.kind === "client_closed" && e.during !== null).length === 2,
      );
      assert.deepEqual(engine.counts.posts, { [CHAT]: 1, [MESSAGES]: 1 });
      for (const { outcome, dispatched } of router.decisions) {
        assert.equal(outcome, "upstream_timeout");
        assert.equal(dispatched, 1);
      }
    });
  });

  Deno.test(`silence within a stream: an error event, over ${upstream}`, async () => {
    await withRouter(upstream, { timeouts: { idle_seconds: 1 } }, async (router, engine) => {
      const slow = { "x-fixture-fault": "slow-body;ms=60000" };
      await Promise.all([CHAT, MESSAGES].map(async (path) => {
        const request = ask(path, askBody({ stream: true }), slow);
        const got = await within("the error event", exchange(router.port, request), 5000);
        const response = parseResponse(got.bytes);
        assert.equal(response?.status, 200);
        assert.equal(response?.whole, true);
        const text = response?.text ?? "";
        assert.match(text, /Anvil token 1/);
        assert.doesNotMatch(text, /\[DONE\]|message_stop/);
        const last = JSON.parse(eventsOf(text).at(-1) ?? "");
        assert.equal(last.error.code, "upstream_idle_timeout");
        if (path === MESSAGES) assert.equal(last.type, "error");
      }));
      assert.equal(engine.counts.completed, 0);
      assert.ok(router.decisions.every(({ outcome }) => outcome === "upstream_timeout"));
    });
  });
}

/** Answers a POST with a head of `type` and nothing after it. */
function headOnly(type: string) {
  return scriptedMember(async (write) => {
    await write(`content-type: ${type}\r\ntransfer-encoding: chunked\r\n\r\n`);
    return false;
  });
}

for (const upstream of UPSTREAMS) {
  Deno.test(`a head and nothing after it, over ${upstream}`, async () => {
    for (const type of ["application/json", "text/event-stream"]) {
      await using silent = headOnly(type);
      await using router = await startRouter({
        members: [silent.port],
        upstream,
        timeouts: { first_byte_seconds: 1 },
        probes: { interval_ms: 60_000 },
      });
      const got = await within(type, exchange(router.port, ask(CHAT)), 5000);
      const response = parseResponse(got.bytes);
      assert.equal(response?.status, type === "application/json" ? 504 : 200);
      assert.match(response?.text ?? "", /"code":"upstream_first_byte_timeout"/);
      assert.doesNotMatch(response?.text ?? "", /\[DONE\]/);
      await router.quiet();
      const [decision] = router.decisions;
      assert.equal(decision?.outcome, "upstream_timeout");
      assert.equal(decision?.code, "upstream_first_byte_timeout");
      assert.equal(decision?.ttft_ms, null);
      assert.equal(decision?.dispatched, 1);
    }
  });
}

Deno.test("a stream that goes on slowly is not silence", async () => {
  await withRouter("http1", {
    timeouts: { idle_seconds: 1, first_byte_seconds: 1 },
  }, async (router) => {
    const slow = { "x-fixture-fault": "slow-body;ms=300" };
    const request = ask(CHAT, askBody({ stream: true, max_tokens: 8 }), slow);
    const got = await within("the stream", exchange(router.port, request));
    assert.match(parseResponse(got.bytes)?.text ?? "", /data: \[DONE\]\n\n$/);
    assert.equal(router.decisions[0]?.outcome, "completed");
    assert.ok((router.decisions[0]?.duration_ms ?? 0) > 2000);
  });
});

Deno.test("a client that stops reading: the engine is slowed down, others go on, then it is cut", async () => {
  await withRouter("http1", { limits: { stall_seconds: 2 } }, async (router, engine) => {
    // 60 MB if anybody read it.
    const endless = askBody({ stream: true, max_tokens: 300_000 });
    using stalled = await StreamReader.open(router.port, ask(`${CHAT}?stalled`, endless));
    assert.ok(await stalled.readUntil("Anvil token 1"));
    await pause(300);
    for (let turn = 0; turn < 5; turn++) {
      const got = await exchange(router.port, ask(CHAT, askBody({ stream: true })));
      assert.match(parseResponse(got.bytes)?.text ?? "", /\[DONE\]/);
    }
    assert.equal(
      engine.events.some((e) => e.kind === "answered" && e.target.includes("stalled")),
      false,
    );
    await until(
      "it is cut",
      () => router.decisions.some(({ outcome }) => outcome === "client_stalled"),
    );
    const decision = router.decisions.find(({ outcome }) => outcome === "client_stalled");
    // What fits into the sockets' buffers, not what the engine would have said.
    assert.ok((decision?.bytes_out ?? Infinity) < 32 * 1024 * 1024, `${decision?.bytes_out}`);
    await engine.until((e) => e.kind === "client_closed" && (e.during ?? "").includes("stalled"));
    await within("the client's connection ends", stalled.drain());
    assert.doesNotMatch(stalled.text.slice(-4000), /\[DONE\]/);
  });
});
