import assert from "node:assert/strict";
import type { AcceptedConn } from "../intake/asked.ts";
import { acceptTcp } from "./accept.ts";

const encoder = new TextEncoder();
const decoder = new TextDecoder();

/** Accepts on `port`; each connection is told `name` when it has said something. */
function listen(port: number, name: string, reusePort = true) {
  const conns: AcceptedConn[] = [];
  const door = acceptTcp({
    hostname: "127.0.0.1",
    port,
    reusePort,
    take: (conn) => {
      conns.push(conn);
      conn.read(new Uint8Array(64)).then(() => conn.write(encoder.encode(name))).catch(() => {});
    },
    onError: (error) => {
      throw error;
    },
  });
  assert.ok(door.kind === "listening");
  return { door, close: () => conns.forEach((conn) => conn.close()) };
}

async function ask(connection: Deno.Conn): Promise<string> {
  await connection.write(encoder.encode("?"));
  const buffer = new Uint8Array(64);
  const count = await connection.read(buffer);
  return decoder.decode(buffer.subarray(0, count ?? 0));
}

Deno.test({
  name: "a shared port: what was accepted outlives its door, what comes later reaches the other",
  ignore: Deno.build.os !== "linux",
  async fn() {
    const old = listen(0, "old");
    const { port } = old.door;
    const open = await Promise.all(
      Array.from({ length: 8 }, () => Deno.connect({ hostname: "127.0.0.1", port })),
    );
    const next = listen(port, "next");
    await old.door.lull(1000);
    old.door.close();
    for (const connection of open) {
      assert.equal(await ask(connection), "old");
      connection.close();
    }
    for (let i = 0; i < 20; i++) {
      const connection = await Deno.connect({ hostname: "127.0.0.1", port });
      assert.equal(await ask(connection), "next");
      connection.close();
    }
    next.door.close();
    old.close();
    next.close();
  },
});

Deno.test("a port that is taken, and an address this host lacks, are told apart", () => {
  const first = listen(0, "first", false);
  const refusalAt = (hostname: string, port: number) => {
    const door = acceptTcp({
      hostname,
      port,
      reusePort: false,
      take: () => {},
      onError: () => {},
    });
    assert.ok(door.kind === "refused");
    return door.code;
  };
  assert.equal(refusalAt("127.0.0.1", first.door.port), "port_in_use");
  assert.equal(refusalAt("192.0.2.1", 0), "address_unavailable");
  first.door.close();
});

Deno.test("closeWrite sends FIN and keeps reading; close breaks a pending read", async () => {
  const taken = Promise.withResolvers<AcceptedConn>();
  const door = acceptTcp({
    hostname: "127.0.0.1",
    port: 0,
    reusePort: false,
    take: taken.resolve,
    onError: taken.reject,
  });
  assert.ok(door.kind === "listening");
  const client = await Deno.connect({ hostname: "127.0.0.1", port: door.port });
  const conn = await taken.promise;
  door.close();
  await conn.closeWrite();
  assert.equal(await client.read(new Uint8Array(8)), null);
  await client.write(encoder.encode("late"));
  const buffer = new Uint8Array(8);
  assert.equal(await conn.read(buffer), 4);
  const pending = conn.read(buffer).then(() => "read", () => "broken");
  conn.close();
  conn.close();
  assert.equal(await pending, "broken");
  client.close();
});
