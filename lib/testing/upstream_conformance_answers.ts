/**
 * Conformance: what comes back is what the member said, or is refused.
 *
 * @module
 */

import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import type { Shortfalls } from "./upstream_conformance.ts";
import type { PeerConn } from "./upstream_peer.ts";
import {
  answered,
  drain,
  failure,
  type MakeUpstream,
  pattern,
  pause,
  text,
  valuesOf,
  withRig,
} from "./upstream_rig.ts";

/** Serves `raw` once per connection and then closes. */
function once(raw: string | Uint8Array): (conn: PeerConn) => Promise<void> {
  return async (conn) => {
    if (await conn.request() === null) return;
    await conn.write(raw);
    conn.fin();
    await conn.ended;
  };
}

const OK = "HTTP/1.1 200 OK\r\n";
const CHUNKED = `${OK}transfer-encoding: chunked\r\n\r\n`;

/** name -> raw answer, its framing and its body. */
const FRAMINGS: { readonly [name: string]: readonly [string, string, string] } = {
  "length": [`${OK}content-length: 5\r\n\r\nhello`, "length", "hello"],
  "two equal lengths": [`${OK}content-length: 2\r\ncontent-length: 2\r\n\r\nhi`, "length", "hi"],
  "chunked": [
    `${CHUNKED}5\r\nhello\r\n00A\r\n 0123456 \n\r\n0\r\n\r\n`,
    "chunked",
    "hello 0123456 \n",
  ],
  "chunked with extension and trailers": [
    `${CHUNKED}2;a=b\r\nhi\r\n0\r\nx-t: 1\r\ny: 2\r\n\r\n`,
    "chunked",
    "hi",
  ],
  "close": [`${OK}\r\nhello`, "close", "hello"],
  "close, HTTP/1.0": ["HTTP/1.0 200 OK\r\n\r\nhello", "close", "hello"],
  "close, empty": [`${OK}connection: close\r\n\r\n`, "close", ""],
  "interim heads first": [
    `HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early\r\nlink: x\r\n\r\n${OK}content-length: 2\r\n\r\nhi`,
    "length",
    "hi",
  ],
};

/** Heads that two readers could read in two ways, or that nobody asked for. */
const REFUSED: { readonly [name: string]: string } = {
  "both length and chunked":
    `${OK}content-length: 5\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n`,
  "two lengths": `${OK}content-length: 5\r\ncontent-length: 2\r\n\r\nhi`,
  "length list": `${OK}content-length: 2, 2\r\n\r\nhi`,
  "signed length": `${OK}content-length: +2\r\n\r\nhi`,
  "unknown coding": `${OK}transfer-encoding: gzip\r\n\r\nhi`,
  "coding list": `${OK}transfer-encoding: gzip, chunked\r\n\r\n2\r\nhi\r\n0\r\n\r\n`,
  "chunked twice": `${OK}transfer-encoding: chunked\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n`,
  "chunked in HTTP/1.0": "HTTP/1.0 200 OK\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n",
  "folded line": `${OK}x: a\r\n b\r\ncontent-length: 2\r\n\r\nhi`,
  "space before colon": `${OK}content-length : 2\r\n\r\nhi`,
  "bare LF": "HTTP/1.1 200 OK\ncontent-length: 2\n\nhi",
  "bare CR in a value": `${OK}x: a\rb\r\ncontent-length: 2\r\n\r\nhi`,
  "NUL in a value": `${OK}x: a\0b\r\ncontent-length: 2\r\n\r\nhi`,
  "no colon": `${OK}nonsense\r\ncontent-length: 2\r\n\r\nhi`,
  "empty name": `${OK}: x\r\ncontent-length: 2\r\n\r\nhi`,
  "HTTP/2.0": "HTTP/2.0 200 OK\r\ncontent-length: 2\r\n\r\nhi",
  "not HTTP": "SSH-2.0-OpenSSH_9.2\r\n\r\n",
  "switching protocols": "HTTP/1.1 101 Switching\r\nupgrade: x\r\nconnection: upgrade\r\n\r\n",
  "status 999": "HTTP/1.1 999 X\r\ncontent-length: 2\r\n\r\nhi",
  "status of two digits": "HTTP/1.1 20 OK\r\ncontent-length: 2\r\n\r\nhi",
  "head without end": `${OK}x: ${"a".repeat(600_000)}`,
  "too many lines": `${OK}${"x: y\r\n".repeat(300)}content-length: 2\r\n\r\nhi`,
};

/** Registers these tests. */
export function answersConform(name: string, make: MakeUpstream, shortfalls: Shortfalls): void {
  for (const [kind, [raw, framing, body]] of Object.entries(FRAMINGS)) {
    Deno.test(`${name}: framing: ${kind}`, () =>
      withRig(make, once(raw), async ({ send }) => {
        for (const room of [1, 3, 16_384]) {
          const answer = answered(await send());
          assert.equal(answer.status, 200);
          assert.equal(answer.body.framing, framing);
          const { bytes, last } = await drain(answer.body, room);
          assert.equal(new TextDecoder().decode(bytes), body);
          assert.deepEqual(last, { kind: "end" });
          assert.deepEqual(await answer.body.read(new Uint8Array(1)), { kind: "end" });
        }
      }));
  }

  Deno.test(`${name}: answers without a body leave the connection fit for more`, () =>
    withRig(make, async (conn) => {
      for (
        const head of [
          "204 No\r\n",
          "304 Not\r\ncontent-length: 9\r\n",
          "200 OK\r\ncontent-length: 0\r\n",
        ]
      ) {
        if (await conn.request() === null) return;
        await conn.write(`HTTP/1.1 ${head}\r\n`);
      }
      await conn.ended;
    }, async ({ send, peer }) => {
      for (const [status, framing] of [[204, "none"], [304, "none"], [200, "length"]] as const) {
        const answer = answered(await send());
        assert.equal(answer.status, status);
        assert.equal(answer.body.framing, framing);
        assert.equal(await text(answer), "");
      }
      assert.equal(peer.connections.length, 1);
    }));

  Deno.test(`${name}: an answer cut in two at every byte is the same answer`, () => {
    const raw = `${OK}x: y\r\ntransfer-encoding: chunked\r\n\r\n5\r\nhello\r\n1f;e\r\n${
      "x".repeat(31)
    }\r\n0\r\nt: 1\r\n\r\n`;
    let cut = 1;
    return withRig(make, async (conn) => {
      while (await conn.request() !== null) {
        await conn.write(raw.slice(0, cut));
        await pause(1);
        await conn.write(raw.slice(cut));
      }
    }, async ({ send, peer }) => {
      for (; cut <= raw.length; cut++) {
        assert.equal(await text(await send()), `hello${"x".repeat(31)}`, `cut at ${cut}`);
      }
      if (shortfalls.chunkedReuse === undefined) assert.equal(peer.connections.length, 1);
    });
  });

  Deno.test(`${name}: a large answer of every framing arrives byte for byte`, () => {
    const bytes = pattern(1_000_003);
    let framing: "length" | "chunked" | "close";
    return withRig(make, async (conn) => {
      while (await conn.request() !== null) {
        if (framing === "chunked") {
          await conn.write(CHUNKED);
          for (let at = 0; at < bytes.length;) {
            const piece = bytes.subarray(at, at + 1 + (at * 7919) % 50_000);
            await conn.write(`${piece.length.toString(16)}\r\n`);
            await conn.write(piece);
            await conn.write("\r\n");
            at += piece.length;
          }
          await conn.write("0\r\n\r\n");
          continue;
        }
        await conn.write(
          framing === "close" ? `${OK}\r\n` : `${OK}content-length: 1000003\r\n\r\n`,
        );
        await conn.write(bytes);
        if (framing === "close") conn.fin();
      }
    }, async ({ send, peer }) => {
      for (framing of ["length", "chunked", "close"] as const) {
        const { body } = answered(await send());
        assert.equal(body.framing, framing);
        const got = await drain(body, 10_007);
        assert.ok(Buffer.compare(got.bytes, bytes) === 0, framing);
        assert.equal(got.last.kind, "end");
      }
      if (shortfalls.chunkedReuse === undefined) assert.equal(peer.connections.length, 1);
    });
  });

  Deno.test(`${name}: bytes come out when they come in`, () => {
    const { promise: gone, resolve: go } = Promise.withResolvers<void>();
    return withRig(make, async (conn) => {
      if (await conn.request() === null) return;
      await conn.write(`${CHUNKED}9\r\ndata: 1\n\n\r\n`);
      await gone;
      await conn.write(`9\r\ndata: 2\n\n\r\n0\r\n\r\n`);
      await conn.ended;
    }, async ({ send }) => {
      const { body } = answered(await send());
      const first = await body.read(new Uint8Array(1000));
      assert.ok(first.kind === "bytes");
      assert.equal(new TextDecoder().decode(first.bytes), "data: 1\n\n");
      go();
      assert.equal(new TextDecoder().decode((await drain(body)).bytes), "data: 2\n\n");
    });
  });

  Deno.test(`${name}: encoded bytes are left as they are`, async () => {
    const gzip = new Blob(["hello"]).stream().pipeThrough(new CompressionStream("gzip"));
    const packed = new Uint8Array(await new Response(gzip).arrayBuffer());
    const head = `${OK}content-encoding: gzip\r\ncontent-length: ${packed.length}\r\n\r\n`;
    await withRig(make, async (conn) => {
      const seen = await conn.request();
      assert.deepEqual(valuesOf(seen?.headers ?? [], "accept-encoding"), ["identity"]);
      await conn.write(head);
      await conn.write(packed);
    }, async ({ send }) => {
      const answer = answered(await send({ headers: [["accept-encoding", "identity"]] }));
      assert.deepEqual(valuesOf(answer.headers, "content-encoding"), ["gzip"]);
      assert.deepEqual((await drain(answer.body)).bytes, packed);
    });
  });

  Deno.test(`${name}: statuses and headers pass, redirects are not followed`, () => {
    const lines =
      "location: /elsewhere\r\nX-B:  1 \r\nset-cookie: a\r\nx-a: \xe9\r\nx-b:2\r\nset-cookie: b";
    let status = 0;
    return withRig(make, async (conn) => {
      while (await conn.request() !== null) {
        const head = `HTTP/1.1 ${status} Why\r\n${lines}\r\ncontent-length: 0\r\n\r\n`;
        await conn.write(Uint8Array.from(head, (character) => character.charCodeAt(0)));
      }
    }, async ({ send, peer }) => {
      for (status of [200, 302, 400, 404, 429, 500, 503, 599]) {
        const answer = answered(await send());
        assert.equal(answer.status, status);
        await text(answer);
        if (shortfalls.headerOrder === undefined) {
          assert.deepEqual(answer.headers.slice(0, -1), [
            ["location", "/elsewhere"],
            ["x-b", "1"],
            ["set-cookie", "a"],
            ["x-a", "\xe9"],
            ["x-b", "2"],
            ["set-cookie", "b"],
          ]);
        } else {
          assert.deepEqual(valuesOf(answer.headers, "x-b"), ["1, 2"]);
          assert.deepEqual(valuesOf(answer.headers, "x-a"), ["\xe9"]);
          assert.deepEqual(valuesOf(answer.headers, "set-cookie"), ["a", "b"]);
        }
      }
      assert.equal(peer.requests.length, 8);
    });
  });

  for (const [kind, raw] of Object.entries(REFUSED)) {
    const accepted = shortfalls.lenientHeads?.accepted.includes(kind) ?? false;
    Deno.test(`${name}: head ${accepted ? "let through" : "refused"}: ${kind}`, () =>
      withRig(make, async (conn) => {
        if (await conn.request() === null) return;
        conn.write(raw);
        await conn.ended;
      }, async ({ send, peer }) => {
        const answer = await send();
        if (accepted) answered(answer).body.cancel();
        else assert.equal(failure(answer, "malformed_head").sent, "unknown");
        // a parser that found nothing wrong keeps the connection, and the rest of its 3 s
        if (shortfalls.lenientHeads === undefined) await peer.connections[0]?.ended;
        assert.equal(peer.requests.length, 1);
      }));
  }

  Deno.test(`${name}: bytes behind an answer cost the connection, not the next request`, () =>
    withRig(make, async (conn) => {
      if (await conn.request() === null) return;
      const stray = conn.number === 0 ? `${OK}content-length: 3\r\n\r\nbad` : "";
      await conn.write(`${OK}content-length: 2\r\n\r\nok${stray}`);
      await conn.ended;
    }, async ({ send, peer }) => {
      assert.equal(await text(await send()), "ok");
      assert.equal(await text(await send()), "ok");
      assert.equal(peer.requests[1]?.connection, 1);
    }));
}
