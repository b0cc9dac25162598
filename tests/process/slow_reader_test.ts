import assert from "node:assert/strict";
import { startEngine } from "../fixtures/engine.ts";
import { exchange, parseResponse } from "../fixtures/raw_client.ts";
import { withRouterProcess } from "../support/router_process.ts";
import { ask, askBody, CHAT, StreamReader } from "../support/stream_reader.ts";
import { pause, until, within } from "../support/wait.ts";

const MIB = 1024 * 1024;

Deno.test({
  name: "clients that stop reading cost the router no memory, and slow the engine down",
  ignore: Deno.build.os !== "linux", // resident memory is read from /proc
  async fn() {
    const engine = await startEngine();
    try {
      await withRouterProcess({
        members: [engine.port],
        limits: { stall_seconds: 60 },
      }, async (router) => {
        // Warm: the buffers and code of ordinary work are no growth.
        for (let turn = 0; turn < 20; turn++) {
          await exchange(router.port, ask(CHAT, askBody({ stream: true, max_tokens: 500 })));
        }
        const before = await router.rss();
        // 60 MB each, if anybody read it.
        const endless = askBody({ stream: true, max_tokens: 300_000 });
        const stalled = await Promise.all([...Array(6).keys()].map(async () => {
          const reader = await StreamReader.open(router.port, ask(`${CHAT}?stalled`, endless));
          assert.ok(await reader.readUntil("Anvil token 1"));
          return reader;
        }));
        await pause(1000);
        const grown = (await router.rss() - before) / MIB;
        console.log(`grown by ${grown.toFixed(1)} MiB with 6 stalled streams`);
        assert.ok(grown < 40, `grew by ${grown} MiB`);
        const whole = await exchange(router.port, ask(CHAT, askBody({ stream: true })));
        assert.match(parseResponse(whole.bytes)?.text ?? "", /\[DONE\]/);
        assert.equal(
          engine.events.some((e) => e.kind === "answered" && e.target.includes("stalled")),
          false,
        );
        // Each of them still gets all that follows, in order, when it reads again.
        const [first, ...others] = stalled;
        assert.ok(first !== undefined);
        assert.ok(await within("it flows again", first.readUntil(' 2000"')));
        for (const reader of stalled) reader.close();
        assert.equal(others.length, 5);
        await until("nothing is open", async () => (await router.status()).open === 0);
      });
    } finally {
      await engine.close();
    }
  },
});
