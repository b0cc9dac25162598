import assert from "node:assert/strict";
import { selfSigned } from "../../tests/fixtures/certificate.ts";
import { tlsDial } from "./dial_tls.ts";

const limits = (signal = new AbortController().signal, connectMs = 5000) => ({ connectMs, signal });

/** Accepts one connection after another and finishes each handshake, until it is closed. */
function greeter(cert: string, key: string) {
  const listener = Deno.listenTls({ hostname: "127.0.0.1", port: 0, cert, key });
  const serving = (async () => {
    for await (const conn of listener) {
      try {
        await conn.handshake();
        await conn.write(new TextEncoder().encode("hello"));
      } catch {
        // the other side did not like it
      }
      conn.close();
    }
  })();
  return {
    endpoint: { hostname: "127.0.0.1", port: listener.addr.port },
    [Symbol.asyncDispose]: async () => {
      listener.close();
      await serving;
    },
  };
}

Deno.test("tls: a certificate for the address, by an authority that is known, and only that", async () => {
  const good = await selfSigned("127.0.0.1");
  const other = await selfSigned("127.0.0.2");
  await using server = greeter(good.cert, good.key);
  const dialed = await tlsDial([good.cert])(server.endpoint, limits());
  assert.equal(dialed.kind, "connected", JSON.stringify(dialed));
  if (dialed.kind === "connected") {
    const into = new Uint8Array(16);
    const count = await dialed.conn.read(into);
    assert.equal(new TextDecoder().decode(into.subarray(0, count ?? 0)), "hello");
    dialed.conn.close();
    dialed.conn.close();
  }
  const unknown = await tlsDial([])(server.endpoint, limits());
  assert.equal(unknown.kind === "failed" && unknown.code, "connect_tls");
  await using wrong = greeter(other.cert, other.key);
  const named = await tlsDial([other.cert])(wrong.endpoint, limits());
  assert.equal(named.kind === "failed" && named.code, "connect_tls");
});

Deno.test("tls: nobody there, no TLS there, silence there, and a change of mind", async () => {
  const silent = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const endpoint = { hostname: "127.0.0.1", port: silent.addr.port };
  const accepted: Deno.Conn[] = [];
  const accepting = (async () => {
    for await (const conn of silent) accepted.push(conn);
  })();
  const late = await tlsDial([])(endpoint, limits(undefined, 100));
  assert.equal(late.kind === "failed" && late.code, "connect_tls");
  const stop = new AbortController();
  const stopped = tlsDial([])(endpoint, limits(stop.signal));
  setTimeout(() => stop.abort(), 20);
  const left = await stopped;
  assert.equal(left.kind === "failed" && left.code, "aborted");
  for (const conn of accepted) conn.close();
  silent.close();
  await accepting;
  const gone = await tlsDial([])(endpoint, limits());
  assert.equal(gone.kind === "failed" && gone.code, "connect_refused");
});
