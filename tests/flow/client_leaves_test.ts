import assert from "node:assert/strict";
import { type Engine, startEngine } from "../fixtures/engine.ts";
import type { EngineEvent } from "../fixtures/engine_log.ts";
import { startRouter, type TestRouter } from "../support/router.ts";
import { ask, askBody, CHAT, MESSAGES, StreamReader } from "../support/stream_reader.ts";
import { pause, until, within } from "../support/wait.ts";

const AT_ONCE = 24;

/** When a client leaves; each kind leaves the engine in another state. */
const LEAVES = [
  "before the first byte",
  "in the stream",
  "no stream, no byte",
  "no stream, in the body",
] as const;

/** The fault that keeps the engine busy until the client leaves. */
const FAULTS: Readonly<Record<(typeof LEAVES)[number], string>> = {
  "before the first byte": "slow-first-byte;ms=60000",
  "in the stream": "slow-body;ms=2",
  "no stream, no byte": "hang",
  "no stream, in the body": "slow-body;ms=60000",
};

/** A small generator of numbers, the same ones in every run. */
function dice(seed: number): (sides: number) => number {
  let state = seed;
  return (sides) => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return Math.floor(state / 2 ** 32 * sides);
  };
}

/** Asks, leaves, and gives the milliseconds until the engine saw it. */
async function leave(
  router: TestRouter,
  seen: Watcher,
  number: number,
  roll: (sides: number) => number,
): Promise<number> {
  const kind = LEAVES[number % LEAVES.length] ?? LEAVES[0];
  const target = `${roll(2) === 0 ? CHAT : MESSAGES}?n=${number}`;
  const stream = kind === "before the first byte" || kind === "in the stream";
  const request = ask(target, askBody({ stream, max_tokens: 100_000 }), {
    "x-fixture-fault": FAULTS[kind],
  });
  using reader = await StreamReader.open(router.port, request);
  await within(`request ${number} at the engine`, seen.request(target));
  if (kind === "in the stream") await reader.readUntil("Anvil token 1");
  if (kind === "no stream, in the body") await reader.readUntil("HTTP/1.1 200");
  if (roll(2) === 0) await pause(roll(8));
  const left = performance.now();
  reader.close();
  const closed = await within(`close ${number} (${kind}) at the engine`, seen.closed(target));
  return closed.at - left;
}

/** Hands each event to whom it concerns; looking through all of them each time would be quadratic. */
class Watcher {
  readonly #waiting = new Map<string, PromiseWithResolvers<EngineEvent>>();

  constructor(engine: Engine) {
    // Never accepts, so it looks at every event as it happens.
    void engine.until((event) => {
      if (event.kind === "request") this.#of(`request ${event.target}`).resolve(event);
      if (event.kind === "client_closed" && event.during !== null) {
        this.#of(`closed ${event.during}`).resolve(event);
      }
      return false;
    });
  }

  request(target: string): Promise<EngineEvent> {
    return this.#of(`request ${target}`).promise;
  }

  closed(target: string): Promise<EngineEvent> {
    return this.#of(`closed ${target}`).promise;
  }

  #of(key: string): PromiseWithResolvers<EngineEvent> {
    const known = this.#waiting.get(key);
    if (known !== undefined) return known;
    const made = Promise.withResolvers<EngineEvent>();
    this.#waiting.set(key, made);
    return made;
  }
}

for (const [upstream, aborts] of [["http1", 1000], ["fetch", 200]] as const) {
  Deno.test(`${aborts} clients leave: the engine sees each close, nothing is held, over ${upstream}`, async () => {
    const engine = await startEngine();
    const seen = new Watcher(engine);
    try {
      await using router = await startRouter({ members: [engine.port], upstream });
      const roll = dice(7);
      const latencies: number[] = [];
      let next = 0;
      await Promise.all([...Array(AT_ONCE).keys()].map(async () => {
        while (next < aborts) latencies.push(await leave(router, seen, next++, roll));
      }));
      assert.equal(latencies.length, aborts);
      await router.quiet();
      const status = await router.status();
      assert.equal(status.open, 0);
      assert.equal(status.buffered_bytes, 0);
      assert.deepEqual(
        status.tiers.map(({ in_flight, waiting }) => [in_flight, waiting]),
        [[0, 0]],
      );
      assert.equal(router.decisions.length, aborts);
      const outcomes = new Set(router.decisions.map(({ outcome }) => outcome));
      assert.deepEqual([...outcomes], ["client_closed"]);
      assert.ok(router.decisions.every(({ dispatched }) => dispatched === 1));
      // What is left at the engine are idle connections of the pool, none with a request on it.
      assert.ok(engine.open <= 4, `${engine.open} connections are open`);
      assert.equal(Object.values(engine.counts.posts).reduce((a, b) => a + b), aborts);
      latencies.sort((a, b) => a - b);
      const at = (part: number) => (latencies[Math.floor(part * (aborts - 1))] ?? NaN).toFixed(1);
      console.log(`${upstream}: close seen after ms: p50 ${at(0.5)} p99 ${at(0.99)} max ${at(1)}`);
    } finally {
      await engine.close();
    }
  });
}

Deno.test("a client that leaves in the middle of its upload leaves nothing behind", async () => {
  const engine = await startEngine();
  try {
    await using router = await startRouter({ members: [engine.port] });
    const whole = ask(CHAT, askBody({ padding: "x".repeat(3_000_000) }));
    for (const part of [100, 250, 5_000, 1_100_000, 2_900_000]) {
      const before = engine.counts.partial;
      const dispatched = part > 4_000;
      using reader = await StreamReader.open(router.port, whole.subarray(0, part));
      await until("it arrived", () => router.router.core.open.size === (part < 200 ? 0 : 1));
      if (dispatched) await until("it is at the engine", () => engine.open > 0);
      await pause(30);
      reader.close();
      await router.quiet();
      if (dispatched) {
        await until("the engine saw it break off", () => engine.counts.partial > before);
      }
    }
    assert.equal(engine.counts.completed, 0);
    assert.ok(router.decisions.every(({ outcome }) => outcome === "client_closed"));
  } finally {
    await engine.close();
  }
});

// What Deno.serve missed: the body came after the first read of the socket.
for (const [what, size] of [["5 KB", 5_000], ["100 KB", 100_000], ["2 MiB", 2_097_152]] as const) {
  Deno.test(`a client that leaves before the first byte, its body of ${what} sent: the engine sees it`, async () => {
    const engine = await startEngine();
    try {
      await using router = await startRouter({ members: [engine.port] });
      for (const [number, stream] of [true, false, true, false].entries()) {
        const fault = { "x-fixture-fault": stream ? "slow-first-byte;ms=60000" : "hang" };
        const body = askBody({ stream, padding: "x".repeat(size) });
        const target = `${CHAT}?n=${number}`;
        using reader = await StreamReader.open(router.port, ask(target, body, fault));
        await within(
          "the whole request at the engine",
          engine.until((event) => event.kind === "request" && event.target === target),
        );
        const gone = engine.until((event) =>
          event.kind === "client_closed" && event.during === target
        );
        reader.close();
        await within("the close at the engine", gone, 2000);
      }
      await router.quiet();
      const told = router.decisions.map(({ outcome, dispatched }) => [outcome, dispatched]);
      assert.deepEqual(told, Array(4).fill(["client_closed", 1]));
    } finally {
      await engine.close();
    }
  });
}

Deno.test("a client that closes its sending side has left, as it has for nginx", async () => {
  const engine = await startEngine();
  try {
    await using router = await startRouter({ members: [engine.port] });
    const hang = { "x-fixture-fault": "hang" };
    const connection = await Deno.connect({ hostname: "127.0.0.1", port: router.port });
    await connection.write(ask(CHAT, askBody(), hang));
    await until("it is open", () => router.router.core.open.size === 1);
    await connection.closeWrite();
    await router.quiet();
    connection.close();
    assert.deepEqual(router.decisions.map(({ outcome }) => outcome), ["client_closed"]);
  } finally {
    await engine.close();
  }
});

Deno.test("a client that hangs up right after the terminator was served whole", async () => {
  const engine = await startEngine();
  try {
    await using router = await startRouter({ members: [engine.port] });
    for (let turn = 0; turn < 50; turn++) {
      using reader = await StreamReader.open(router.port, ask(CHAT, askBody({ stream: true })));
      assert.ok(await reader.readUntil("[DONE]\n\n"));
      reader.close();
    }
    await router.quiet();
    const outcomes = router.decisions.map(({ outcome }) => outcome);
    assert.deepEqual(new Set(outcomes), new Set(["completed"]));
    assert.equal(outcomes.length, 50);
  } finally {
    await engine.close();
  }
});
