import assert from "node:assert/strict";
import type { Clock } from "../../lib/core/clock.ts";
import { systemClock } from "../../lib/host/clock.ts";
import { startEngine } from "../fixtures/engine.ts";
import { exchange, parseResponse } from "../fixtures/raw_client.ts";
import { Rig } from "../support/router_rig.ts";
import { ask, askBody, CHAT, MESSAGES } from "../support/stream_reader.ts";
import { until } from "../support/wait.ts";

const HEARTBEAT = ": anvil-router waits for the model\n\n";

Deno.test("heartbeats come between events only, and change no event", async () => {
  const engine = await startEngine();
  try {
    const settings = { members: [engine.port], tier: { heartbeat_seconds: 1 } };
    await using rig = await Rig.start(settings);
    for (const path of [CHAT, MESSAGES]) {
      const body = askBody({ stream: true, max_tokens: 2 });
      const textOf = async (fault: string) => {
        const request = ask(path, body, { "x-fixture-fault": fault });
        return parseResponse((await exchange(rig.port, request)).bytes)?.text ?? "";
      };
      const [plain, slow] = await Promise.all([textOf(""), textOf("slow-body;ms=1200")]);
      assert.equal(plain.includes(HEARTBEAT), false);
      assert.ok(slow.split(HEARTBEAT).length >= 3, slow);
      assert.equal(slow.replaceAll(HEARTBEAT, ""), plain);
      // Each stands at the start of the text or after an empty line.
      for (let at = slow.indexOf(HEARTBEAT); at !== -1; at = slow.indexOf(HEARTBEAT, at + 1)) {
        assert.ok(at === 0 || slow.slice(at - 2, at) === "\n\n", slow.slice(0, at));
      }
    }
    // In the middle of an event nothing of ours may stand.
    const cut = ask(CHAT, askBody({ stream: true }), {
      "x-fixture-fault": "slow-body;ms=1200,gzip",
    });
    assert.equal(
      parseResponse((await exchange(rig.port, cut)).bytes)?.text.includes(HEARTBEAT),
      false,
    );
  } finally {
    await engine.close();
  }
});

/** The machine's clock, with a wall clock that people set. */
class SetClock implements Clock {
  offset = 0;
  now = () => systemClock.now() + this.offset;
  monotonic = systemClock.monotonic;
  sleep = systemClock.sleep;
}

Deno.test("a wall clock that is set, forward or back, moves no deadline", async () => {
  const engine = await startEngine({ rate: 20 });
  try {
    const clock = new SetClock();
    await using rig = await Rig.start({
      members: [engine.port],
      clock,
      timeouts: { first_byte_seconds: 2, idle_seconds: 2 },
    });
    const day = 86_400_000;
    for (const offset of [400 * day, -400 * day, 0]) {
      const body = askBody({ stream: true, max_tokens: 12 });
      const streaming = exchange(rig.port, ask(CHAT, body));
      await until("it streams", () => rig.router.core.open.size === 1);
      clock.offset = offset;
      const response = parseResponse((await streaming).bytes);
      assert.match(response?.text ?? "", /\[DONE\]/);
      assert.equal(rig.router.core.tiers.get("primary")?.admits, true);
    }
    await until("all are recorded", () => rig.decisions.length === 3);
    for (const { outcome, duration_ms } of rig.decisions) {
      assert.equal(outcome, "completed");
      assert.ok(duration_ms > 0 && duration_ms < 10_000, `${duration_ms}`);
    }
    // And a deadline that is due still comes.
    clock.offset = -400 * day;
    const hung = ask(CHAT, askBody(), { "x-fixture-fault": "hang" });
    const late = parseResponse((await exchange(rig.port, hung)).bytes);
    assert.equal(late?.header("x-anvil-code"), "upstream_first_byte_timeout");
  } finally {
    await engine.close();
  }
});
