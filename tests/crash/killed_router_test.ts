import assert from "node:assert/strict";
import { tempDir } from "../../lib/testing/temp_dir.ts";
import { startEngine } from "../fixtures/engine.ts";
import { exchange, parseResponse } from "../fixtures/raw_client.ts";
import { furnish, RouterProcess } from "../support/router_process.ts";
import { ask, askBody, CHAT, StreamReader } from "../support/stream_reader.ts";
import { until, within } from "../support/wait.ts";

Deno.test({
  name: "kill -9 under load, again and again: it comes up, the record is whole but its last line",
  ignore: Deno.build.os === "windows",
  async fn() {
    const engine = await startEngine();
    await using dir = await tempDir();
    await furnish(dir.path, { members: [engine.port] });
    try {
      let kept = 0;
      for (let life = 1; life <= 3; life++) {
        await using router = await RouterProcess.start(dir.path);
        // It starts with nothing in flight, whatever died before.
        const status = await router.status();
        assert.equal(status.open, 0);
        assert.equal(status.tiers[0]?.in_flight, 0);
        const stop = new AbortController();
        let answered = 0;
        const loads = [...Array(8).keys()].map(async (index) => {
          while (!stop.signal.aborted) {
            const body = askBody({ stream: index % 2 === 0 });
            const got = await exchange(router.port, ask(CHAT, body)).catch(() => null);
            if (got === null) return;
            if (parseResponse(got.bytes)?.whole === true) answered++;
          }
        });
        using open = await StreamReader.open(
          router.port,
          ask(CHAT, askBody({ stream: true, max_tokens: 500 }), {
            "x-fixture-fault": "slow-body;ms=20",
          }),
        );
        assert.ok(await open.readUntil("Anvil token 1"));
        await until("there is load", () => answered >= 40 * life);
        router.kill("SIGKILL");
        const { signal } = await within("its death", router.finished);
        assert.equal(signal, "SIGKILL");
        stop.abort();
        await Promise.all(loads);
        // The client sees a break, never an end.
        const cut = await within("the cut", open.rest());
        assert.notEqual(parseResponse(cut.bytes)?.whole, true);
        const text = await router.decisionText();
        const lines = text.split("\n");
        const torn = text.endsWith("\n") ? [] : lines.slice(-1);
        assert.ok(torn.length <= 1);
        const unreadable = lines.slice(0, -1).filter((line) => !isRecord(line));
        // A line torn by an earlier death stays where it is, and does not spoil the next one.
        assert.ok(unreadable.length <= life - 1, `${unreadable}`);
        const whole = lines.length - 1 - unreadable.length;
        assert.ok(whole > kept, "records were lost");
        kept = whole;
      }
      await using last = await RouterProcess.start(dir.path);
      const got = await exchange(last.port, ask(CHAT));
      assert.equal(parseResponse(got.bytes)?.status, 200);
    } finally {
      await engine.close();
    }
  },
});

function isRecord(line: string): boolean {
  try {
    return typeof JSON.parse(line).outcome === "string";
  } catch {
    return false;
  }
}
