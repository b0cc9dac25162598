import assert from "node:assert/strict";
import { startEngine } from "../fixtures/engine.ts";
import { exchange, parseResponse } from "../fixtures/raw_client.ts";
import { withRouterProcess } from "../support/router_process.ts";
import { ask, askBody, CHAT, StreamReader } from "../support/stream_reader.ts";
import { until, within } from "../support/wait.ts";

const CONNECTIONS = 5000;
/** Of these, so many never finish their head, and so many stream. */
const SLOW = 500;
const STREAMS = 100;

/** Descriptors a process here may have: this one and the router need one per connection. */
async function descriptors(): Promise<number> {
  if (Deno.build.os === "windows") return 0;
  const { stdout } = await new Deno.Command("sh", { args: ["-c", "ulimit -Hn"] }).output();
  const text = new TextDecoder().decode(stdout).trim();
  return text === "unlimited" ? Infinity : Number(text);
}

/** Opens `count`, a hundred at a time. */
async function open(port: number, count: number, bytes: string): Promise<Deno.TcpConn[]> {
  const connections: Deno.TcpConn[] = [];
  while (connections.length < count) {
    const some = Math.min(100, count - connections.length);
    connections.push(
      ...await Promise.all(Array.from({ length: some }, async () => {
        const connection = await Deno.connect({ hostname: "127.0.0.1", port });
        if (bytes !== "") await connection.write(new TextEncoder().encode(bytes));
        return connection;
      })),
    );
  }
  return connections;
}

Deno.test(`${CONNECTIONS} open connections, ${SLOW} of them with a head that never ends: requests are answered`, async () => {
  const most = await descriptors();
  if (most < CONNECTIONS + 1000) {
    console.log(`skipped: a process here may have ${most} descriptors`);
    return;
  }
  const engine = await startEngine({ rate: 5 });
  try {
    await withRouterProcess({
      members: [engine.port],
      admission: { in_flight: 512 },
      timeouts: { idle_seconds: 30 },
      limits: { head_seconds: 300 },
    }, async (router) => {
      const before = Deno.build.os === "linux" ? await router.rss() : NaN;
      const connections = [
        ...await open(router.port, CONNECTIONS - SLOW - STREAMS, ""),
        ...await open(
          router.port,
          SLOW,
          "POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\nx-slow: ",
        ),
      ];
      const streams = await Promise.all(Array.from({ length: STREAMS }, async () => {
        const stream = await StreamReader.open(
          router.port,
          ask(CHAT, askBody({ stream: true, max_tokens: 12 })),
        );
        assert.ok(await stream.readUntil("Anvil token 1"));
        return stream;
      }));
      // One byte more of each slow head: they go on, as long as their client likes.
      for (const connection of connections.slice(-SLOW)) {
        await connection.write(new TextEncoder().encode("y"));
      }
      for (let turn = 0; turn < 20; turn++) {
        const answered = exchange(router.port, ask(CHAT, askBody({ max_tokens: 1 })));
        const response = parseResponse((await within("an answer", answered)).bytes);
        assert.equal(response?.status, 200);
      }
      assert.equal(await router.readyz(), 200);
      const during = Deno.build.os === "linux" ? await router.rss() : NaN;
      for (const stream of streams) {
        assert.ok(await stream.readUntil("[DONE]"));
        stream.close();
      }
      const kib = Math.round((during - before) / CONNECTIONS / 1024);
      console.log(
        `  ${CONNECTIONS} connections: ${kib} KiB each, ${Math.round(during / 2 ** 20)} MiB in all`,
      );
      assert.ok(!(kib > 64), `${kib} KiB per connection`);
      for (const connection of connections) connection.close();
      await until("nothing is open", async () => (await router.status()).open === 0);
    });
  } finally {
    await engine.close();
  }
});
