import assert from "node:assert/strict";
import { serve } from "./serve.ts";

const REQUEST = new TextEncoder().encode("GET / HTTP/1.1\r\nhost: x\r\n\r\n");

function listen(port: number, name: string) {
  const server = serve({
    hostname: "127.0.0.1",
    port,
    reusePort: true,
    handler: () => new Response(name),
    onError: (error) => {
      throw error;
    },
  });
  assert.ok(server.kind === "listening");
  return server;
}

async function answerOn(connection: Deno.Conn): Promise<string> {
  await connection.write(REQUEST);
  const buffer = new Uint8Array(4096);
  const count = await connection.read(buffer);
  return new TextDecoder().decode(buffer.subarray(0, count ?? 0));
}

Deno.test({
  name: "a shared port: connections accepted before the leave are answered after it, once",
  ignore: Deno.build.os !== "linux",
  async fn() {
    const old = listen(0, "old");
    const open = await Promise.all(
      Array.from({ length: 8 }, () => Deno.connect({ hostname: "127.0.0.1", port: old.port })),
    );
    const [kept] = open;
    assert.ok(kept !== undefined);
    assert.match(await answerOn(kept), /old$/);
    const next = listen(old.port, "next");
    const left = old.shutdown();
    // Silent until now, or kept from before: each gets its answer, and is told to go.
    for (const connection of open) {
      const answer = await answerOn(connection);
      assert.match(answer, /old$/);
      assert.match(answer, /connection: close/i);
      connection.close();
    }
    // New ones reach the other server alone.
    for (let i = 0; i < 20; i++) {
      const connection = await Deno.connect({ hostname: "127.0.0.1", port: old.port });
      assert.match(await answerOn(connection), /next$/);
      connection.close();
    }
    await left;
    await next.shutdown();
  },
});
