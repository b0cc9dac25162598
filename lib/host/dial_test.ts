import assert from "node:assert/strict";
import { pause, within } from "../testing/upstream_rig.ts";
import { tcpDial } from "./dial.ts";

const limits = { connectMs: 2000, signal: new AbortController().signal };

Deno.test("a dialled connection reads, writes and closes more than once", async () => {
  const listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const accepted = listener.accept();
  const { port } = listener.addr as Deno.NetAddr;
  const dialed = await tcpDial({ hostname: "127.0.0.1", port }, limits);
  const peer = await accepted;
  assert.ok(dialed.kind === "connected");
  const { conn } = dialed;
  assert.equal(await conn.write(Uint8Array.of(1, 2)), 2);
  assert.equal(await peer.read(new Uint8Array(9)), 2);
  await peer.write(Uint8Array.of(3));
  const into = new Uint8Array(9);
  assert.equal(await conn.read(into), 1);
  assert.equal(into[0], 3);
  const pending = conn.read(into);
  conn.close();
  conn.close();
  await assert.rejects(pending);
  assert.equal(await peer.read(new Uint8Array(9)), null);
  peer.close();
  listener.close();
});

Deno.test("nothing listens: refused", async () => {
  const listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const { port } = listener.addr as Deno.NetAddr;
  listener.close();
  const dialed = await tcpDial({ hostname: "127.0.0.1", port }, limits);
  assert.equal(dialed.kind === "failed" && dialed.code, "connect_refused");
});

Deno.test({
  name: "no way there: unreachable",
  ignore: Deno.build.os !== "linux",
  async fn() {
    const dialed = await tcpDial({ hostname: "255.255.255.255", port: 1 }, limits);
    assert.equal(dialed.kind === "failed" && dialed.code, "connect_unreachable");
  },
});

Deno.test("aborted before it begins: no connection is tried", async () => {
  const dialed = await tcpDial({ hostname: "127.0.0.1", port: 1 }, {
    connectMs: 2000,
    signal: AbortSignal.abort(),
  });
  assert.equal(dialed.kind === "failed" && dialed.code, "aborted");
});

Deno.test("aborted at any moment of the connect: no connection is left open", async () => {
  const listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const { port } = listener.addr as Deno.NetAddr;
  const ends: Promise<number | null>[] = [];
  const accepting = (async () => {
    for await (const peer of listener) {
      ends.push(peer.read(new Uint8Array(1)).catch(() => null).finally(() => peer.close()));
    }
  })();
  const outcomes = new Set<string>();
  for (let round = 0; round < 10; round++) {
    await Promise.all(Array.from({ length: 30 }, async (_, number) => {
      const abort = new AbortController();
      const timer = setTimeout(() => abort.abort(), number % 3);
      const dialed = await tcpDial({ hostname: "127.0.0.1", port }, {
        connectMs: 2000,
        signal: abort.signal,
      });
      clearTimeout(timer);
      outcomes.add(dialed.kind === "failed" ? dialed.code : "connected");
      if (dialed.kind === "connected") dialed.conn.close();
    }));
  }
  await pause(20); // what was connected is accepted by now
  assert.deepEqual(await within(Promise.all(ends), 2000), ends.map(() => null));
  listener.close();
  await accepting;
  outcomes.delete("connected");
  assert.deepEqual([...outcomes], ["aborted"]);
});
