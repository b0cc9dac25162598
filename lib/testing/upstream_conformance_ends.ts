/**
 * Conformance: how things end: broken by the member, or ended by us.
 *
 * @module
 */

import assert from "node:assert/strict";
import type { Shortfalls } from "./upstream_conformance.ts";
import type { PeerConn } from "./upstream_peer.ts";
import {
  answered,
  askOf,
  bodyOf,
  drain,
  failure,
  type MakeUpstream,
  pattern,
  pause,
  within,
  withRig,
} from "./upstream_rig.ts";

const OK = "HTTP/1.1 200 OK\r\n";
const LENGTH = `${OK}content-length: 10\r\n\r\n12345`;
const CHUNKED = `${OK}transfer-encoding: chunked\r\n\r\n5\r\n12345`;

/** name -> what is written, how the connection ends, what the body must say. */
const BROKEN: {
  readonly [name: string]: readonly [string, "fin" | "reset" | "stay", string];
} = {
  "length, FIN": [LENGTH, "fin", "truncated"],
  "length, RST": [LENGTH, "reset", "reset"],
  "close, RST": [`${OK}\r\n12345`, "reset", "reset"],
  "chunk cut, FIN": [`${OK}transfer-encoding: chunked\r\n\r\n9\r\n12345`, "fin", "truncated"],
  "chunk end cut, FIN": [CHUNKED, "fin", "truncated"],
  "no last chunk, FIN": [`${CHUNKED}\r\n`, "fin", "truncated"],
  "last chunk cut, FIN": [`${CHUNKED}\r\n0\r\n`, "fin", "truncated"],
  "no last chunk, RST": [`${CHUNKED}\r\n`, "reset", "reset"],
  "chunk size not hexadecimal": [`${CHUNKED}\r\nzz\r\n`, "stay", "malformed"],
  "chunk size beyond all bounds": [`${CHUNKED}\r\n${"f".repeat(17)}\r\n`, "stay", "malformed"],
  "chunk longer than its size": [`${CHUNKED}6`, "stay", "malformed"],
};

/** Registers these tests. */
export function endsConform(name: string, make: MakeUpstream, shortfalls: Shortfalls): void {
  for (const [fault, [raw, end, code]] of Object.entries(BROKEN)) {
    Deno.test(`${name}: broken body: ${fault}`, () =>
      withRig(make, async (conn) => {
        if (await conn.request() === null) return;
        await conn.write(raw);
        await pause(10); // a reset may overtake nothing
        if (end !== "stay") conn[end]();
        await conn.ended;
      }, async ({ send, peer }) => {
        const { body } = answered(await send());
        const { bytes, last } = await drain(body);
        assert.equal(new TextDecoder().decode(bytes), "12345");
        assert.ok(last.kind === "broken", JSON.stringify(last));
        assert.equal(last.code, shortfalls.brokenDetail === undefined ? code : "truncated");
        assert.deepEqual(await body.read(new Uint8Array(9)), last);
        body.cancel();
        await peer.connections[0]?.ended;
      }));
  }

  Deno.test(`${name}: aborted before it begins: not sent, no connection`, () =>
    withRig(make, holds, async ({ send, peer }) => {
      const body = bodyOf("stream", pattern(10));
      assert.equal(
        failure(await send({ signal: AbortSignal.abort(), body }), "aborted").sent,
        "no",
      );
      assert.equal(peer.connections.length, 0);
    }));

  Deno.test(`${name}: aborted before the head: the member sees it`, () =>
    withRig(make, holds, async ({ send, peer }) => {
      const abort = new AbortController();
      const sending = send({ signal: abort.signal, body: bodyOf("bytes", pattern(10)) });
      while (peer.requests.length === 0) await pause(1);
      abort.abort();
      assert.equal(failure(await sending, "aborted").sent, "unknown");
      await within(peer.connections[0]?.ended ?? Promise.reject(), 1000);
    }));

  Deno.test(`${name}: aborted in the middle of an upload: never a whole request`, () =>
    withRig(make, holds, async ({ send, peer }) => {
      const abort = new AbortController();
      let cancelled = false;
      const stream = new ReadableStream<Uint8Array>({
        start: (controller) => controller.enqueue(new Uint8Array(100)),
        cancel: () => void (cancelled = true),
      });
      const body = { kind: "stream", size: 200, stream } as const;
      const sending = send({ signal: abort.signal, body });
      while ((peer.connections[0]?.waiting ?? 0) < 100) await pause(1);
      abort.abort();
      failure(await sending, "aborted");
      await within(peer.connections[0]?.ended ?? Promise.reject(), 1000);
      assert.equal(peer.requests.length, 0);
      assert.equal(cancelled, true);
    }));

  for (const way of ["abort", "cancel"] as const) {
    for (const pending of [true, false]) {
      const when = pending ? "while a read waits" : "between reads";
      Deno.test(`${name}: ${way} in the middle of a body, ${when}: the member sees it`, () =>
        withRig(make, async (conn) => {
          if (await conn.request() === null) return;
          await conn.write(`${CHUNKED}\r\n`);
          await conn.ended;
        }, async ({ send, peer }) => {
          const abort = new AbortController();
          const { body } = answered(await send({ signal: abort.signal }));
          assert.equal((await body.read(new Uint8Array(100))).kind, "bytes");
          const read = pending ? body.read(new Uint8Array(100)) : null;
          if (way === "abort") abort.abort();
          else body.cancel();
          const last = await (read ?? body.read(new Uint8Array(100)));
          assert.ok(last.kind === "broken", JSON.stringify(last));
          assert.equal(last.code, "aborted");
          body.cancel();
          await within(peer.connections[0]?.ended ?? Promise.reject(), 1000);
        }));
    }
  }

  Deno.test(`${name}: abort and cancel after the end do not touch the next request`, () =>
    withRig(make, async (conn) => {
      while (await conn.request() !== null) {
        await conn.write(`${OK}content-length: 2\r\n\r\nok`);
      }
    }, async ({ send, peer }) => {
      const abort = new AbortController();
      const first = answered(await send({ signal: abort.signal })).body;
      await drain(first);
      const sending = send();
      abort.abort();
      first.cancel();
      assert.equal((await drain(answered(await sending).body)).last.kind, "end");
      assert.equal(peer.connections.length, 1);
    }));

  Deno.test(`${name}: 300 requests aborted at any moment leave no connection behind`, () =>
    withRig(make, async (conn) => {
      while (await conn.request() !== null) {
        await pause(conn.number % 3);
        await conn.write(CHUNKED);
        await pause(conn.number % 5);
        await conn.write("\r\n0\r\n\r\n");
      }
    }, async ({ send, peer, upstream }) => {
      const one = async (number: number) => {
        const abort = new AbortController();
        const timer = setTimeout(() => abort.abort(), number % 7);
        const body = bodyOf(number % 2 === 0 ? "bytes" : "stream", pattern(number * 100));
        const answer = await send({ signal: abort.signal, body });
        if (answer.kind === "failed") assert.equal(answer.code, "aborted");
        else {
          const { bytes, last } = await drain(answer.body, 3);
          if (last.kind === "end") assert.equal(bytes.length, 5);
          else assert.ok(last.kind === "broken" && last.code === "aborted");
        }
        clearTimeout(timer);
      };
      for (let round = 0; round < 10; round++) {
        await Promise.all(Array.from({ length: 30 }, (_, at) => one(round * 30 + at)));
      }
      upstream.close();
      assert.ok(peer.requests.length <= 300);
      await within(Promise.all(peer.connections.map((conn) => conn.ended)), 4500);
    }));

  Deno.test(`${name}: a body nobody reads is not taken from the member`, () => {
    let written = 0;
    return withRig(make, async (conn) => {
      if (await conn.request() === null) return;
      await conn.write(`${OK}content-length: ${50 * 1024 * 1024}\r\n\r\n`);
      while (written < 50 && await conn.write(new Uint8Array(1024 * 1024))) written++;
      await conn.ended;
    }, async ({ send, peer }) => {
      const { body } = answered(await send());
      assert.equal((await body.read(new Uint8Array(100))).kind, "bytes");
      for (let before = -1; written > before;) {
        before = written;
        await pause(150);
      }
      assert.ok(written < 40, `${written} of 50 MiB were taken`);
      body.cancel();
      await within(peer.connections[0]?.ended ?? Promise.reject(), 1000);
    });
  });

  Deno.test({
    name: `${name}: nobody accepts: ${shortfalls.connectTimeout ?? "given up after connectMs"}`,
    ignore: Deno.build.os !== "linux", // elsewhere a full backlog refuses
    async fn() {
      const { endpoint, release } = await fullBacklog();
      const upstream = make();
      try {
        if (shortfalls.connectTimeout === undefined) {
          const answer = await within(upstream.send(askOf(endpoint, { connectMs: 50 })));
          assert.equal(failure(answer, "connect_timeout").sent, "no");
        }
        const abort = new AbortController();
        const sending = upstream.send(askOf(endpoint, { signal: abort.signal }));
        await pause(30);
        abort.abort();
        const { sent } = failure(await within(sending), "aborted");
        assert.equal(sent, shortfalls.connectTimeout === undefined ? "no" : "unknown");
      } finally {
        upstream.close();
        release();
      }
    },
  });
}

/** Reads what comes and says nothing. */
async function holds(conn: PeerConn): Promise<void> {
  await conn.request();
  await conn.ended;
}

/** A listener that accepts no more: Linux drops what comes next, so a connect just waits. */
async function fullBacklog() {
  const listener = Deno.listen({ hostname: "127.0.0.1", port: 0, tcpBacklog: 1 });
  const { port } = listener.addr as Deno.NetAddr;
  const endpoint = { hostname: "127.0.0.1", port };
  const held: Deno.Conn[] = [];
  for (let full = false; !full;) {
    const signal = new AbortController();
    const timer = setTimeout(() => signal.abort(), 100);
    try {
      held.push(await Deno.connect({ ...endpoint, signal: signal.signal }));
    } catch {
      full = true;
    }
    clearTimeout(timer);
  }
  const release = () => {
    for (const conn of held) conn.close();
    listener.close();
  };
  return { endpoint, release };
}
