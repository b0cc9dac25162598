import assert from "node:assert/strict";
import { type Engine, startEngine } from "../fixtures/engine.ts";
import { eventsOf, parseResponse } from "../fixtures/raw_client.ts";
import { type RouterProcess, withRouterProcess } from "../support/router_process.ts";
import { ask, askBody, CHAT, MESSAGES, StreamReader } from "../support/stream_reader.ts";
import { pause, until, within } from "../support/wait.ts";

const ignore = Deno.build.os === "windows";

async function withEngine(run: (engine: Engine) => Promise<void>) {
  const engine = await startEngine();
  try {
    await run(engine);
  } finally {
    await engine.close();
  }
}

/** Opens `count` streams of both dialects and waits until each has begun. */
async function openStreams(
  router: RouterProcess,
  count: number,
  fault: string,
): Promise<StreamReader[]> {
  return await Promise.all([...Array(count).keys()].map(async (index) => {
    const path = index % 2 === 0 ? CHAT : MESSAGES;
    const body = askBody({ stream: true, max_tokens: 60 });
    const request = ask(path, body, { "x-fixture-fault": fault });
    const reader = await StreamReader.open(router.port, request);
    assert.ok(await reader.readUntil("Anvil token 1"));
    return reader;
  }));
}

async function refusesAtOnce(router: RouterProcess): Promise<void> {
  await until("new connections are refused", async () => {
    try {
      (await Deno.connect({ hostname: "127.0.0.1", port: router.port })).close();
      return false;
    } catch (error) {
      assert.ok(error instanceof Deno.errors.ConnectionRefused, String(error));
      return true;
    }
  }, 1000);
}

Deno.test({
  name: "SIGTERM with 50 open streams: all end with their terminator, exit 0",
  ignore,
  async fn() {
    await withEngine((engine) =>
      withRouterProcess(
        { members: [engine.port], limits: { drain_seconds: 30 } },
        async (router) => {
          const readers = await openStreams(router, 50, "slow-body;ms=30");
          router.kill("SIGTERM");
          await refusesAtOnce(router);
          // All of them still run: it is refused while they do, not after.
          assert.equal(engine.counts.completed, 0);
          assert.equal(await router.readyz(), 503);
          assert.equal((await router.status()).open, 50);
          const ends = await Promise.all(readers.map((reader) => within("its end", reader.rest())));
          for (const [index, end] of ends.entries()) {
            const response = parseResponse(end.bytes);
            assert.equal(response?.whole, true);
            const terminator = index % 2 === 0
              ? /data: \[DONE\]\n\n$/
              : /"type":"message_stop"\}\n\n$/;
            assert.match(response?.text ?? "", terminator);
          }
          for (const reader of readers) reader.close();
          const { code, signal, stderr } = await within("the exit", router.finished);
          assert.deepEqual([code, signal], [0, null], stderr);
          const lines = (await router.decisionText()).trim().split("\n");
          assert.equal(lines.length, 50);
          for (const line of lines) assert.equal(JSON.parse(line).outcome, "completed");
          assert.equal(engine.counts.completed, 50);
        },
      )
    );
  },
});

for (
  const [how, drain_seconds, signals] of [
    ["a drain shorter than the streams", 1, 1],
    ["a second signal", 60, 2],
  ] as const
) {
  Deno.test({
    name: `${how}: the streams end with an error event, exit 0`,
    ignore,
    async fn() {
      await withEngine((engine) =>
        withRouterProcess({ members: [engine.port], limits: { drain_seconds } }, async (router) => {
          const readers = await openStreams(router, 10, "slow-body;ms=60000");
          const plain = { "x-fixture-fault": "hang" };
          using waiting = await StreamReader.open(router.port, ask(CHAT, askBody(), plain));
          await until("eleven are open", async () => (await router.status()).open === 11);
          router.kill("SIGTERM");
          await refusesAtOnce(router);
          // One that comes sooner is taken for the first one, passed on by a launcher as well.
          if (signals === 2) await pause(600);
          if (signals === 2) router.kill("SIGTERM");
          const ends = await Promise.all(readers.map((reader) => within("its end", reader.rest())));
          for (const [index, end] of ends.entries()) {
            const response = parseResponse(end.bytes);
            assert.equal(response?.whole, true, "the framing is whole");
            const text = response?.text ?? "";
            assert.doesNotMatch(text, /\[DONE\]|message_stop|"finish_reason":"/);
            const last = JSON.parse(eventsOf(text).at(-1) ?? "");
            assert.equal(last.error.code, "router_stopped");
            if (index % 2 === 1) assert.match(text, /\n\nevent: error\ndata: /);
          }
          const answer = parseResponse((await within("an answer", waiting.rest())).bytes);
          assert.equal(answer?.status, 503);
          assert.equal(answer?.header("x-anvil-code"), "router_stopped");
          assert.equal(answer?.header("x-should-retry"), "false");
          for (const reader of readers) reader.close();
          const { code, signal, stderr } = await within("the exit", router.finished);
          assert.deepEqual([code, signal], [0, null], stderr);
          const lines = (await router.decisionText()).trim().split("\n");
          assert.equal(lines.length, 11);
          for (const line of lines) assert.equal(JSON.parse(line).outcome, "router_stopped");
        })
      );
    },
  });
}

Deno.test({
  name: "SIGINT and SIGTERM with nothing open: exit 0 at once",
  ignore,
  async fn() {
    await withEngine(async (engine) => {
      for (const signal of ["SIGINT", "SIGTERM"] as const) {
        await withRouterProcess({ members: [engine.port] }, async (router) => {
          // A client's connection that is merely kept alive does not hold it up.
          using idle = await StreamReader.open(router.port, ask(CHAT));
          assert.ok(await idle.readUntil('"usage"'));
          router.kill(signal);
          assert.equal((await within("the exit", router.finished, 5000)).code, 0);
        });
      }
    });
  },
});
