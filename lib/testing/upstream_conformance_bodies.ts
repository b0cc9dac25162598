/**
 * Conformance: what a member gets is what was asked, to the byte.
 *
 * @module
 */

import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import type { Shortfalls } from "./upstream_conformance.ts";
import {
  answered,
  bodyOf,
  failure,
  type MakeUpstream,
  pattern,
  pause,
  text,
  valuesOf,
  withRig,
} from "./upstream_rig.ts";
import type { PeerConn } from "./upstream_peer.ts";

const OK = "HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok";

async function serve(conn: PeerConn): Promise<void> {
  while (await conn.request() !== null) await conn.write(OK);
}

/** Registers these tests. */
export function bodiesConform(name: string, make: MakeUpstream, shortfalls: Shortfalls): void {
  for (const kind of ["bytes", "stream"] as const) {
    Deno.test(`${name}: bodies of ${kind} arrive byte for byte, with their length`, () =>
      withRig(make, serve, async ({ send, peer }) => {
        for (const size of [0, 1, 65_536, 65_537, 5 * 1024 * 1024]) {
          const bytes = pattern(size);
          assert.equal(await text(await send({ body: bodyOf(kind, bytes) })), "ok");
          const seen = peer.requests.at(-1);
          assert.ok(seen !== undefined && Buffer.compare(seen.body, bytes) === 0, `${size} bytes`);
          assert.deepEqual(valuesOf(seen.headers, "content-length"), [String(size)]);
          assert.deepEqual(valuesOf(seen.headers, "transfer-encoding"), []);
        }
        assert.equal(peer.connections.length, 1);
      }));
  }

  Deno.test(`${name}: the head says what was asked and no more`, () =>
    withRig(make, serve, async ({ send, peer }) => {
      const headers = [
        ["x-b", "1"],
        ["accept-encoding", "identity"],
        ["x-a", "\xe9\t2"],
      ] as const;
      await text(await send({ headers, target: "/v1/x?a=1&b=%20" }));
      await text(await send({ headers, target: "/", method: "GET" }));
      const [post, get] = peer.requests;
      assert.ok(post !== undefined && get !== undefined);
      assert.equal(post.method, "POST");
      assert.equal(post.target, "/v1/x?a=1&b=%20");
      assert.deepEqual(valuesOf(post.headers, "host"), [`127.0.0.1:${peer.endpoint.port}`]);
      assert.deepEqual(valuesOf(post.headers, "content-length"), ["0"]);
      assert.equal(get.method, "GET");
      assert.deepEqual(valuesOf(get.headers, "content-length"), []);
      for (const [header, value] of headers) {
        assert.deepEqual(valuesOf(post.headers, header), [value]);
      }
      if (shortfalls.addedHeaders === undefined) {
        assert.deepEqual(get.headers.slice(1), headers);
        assert.equal(get.headers[0]?.[0], "host");
      }
    }));

  const SHORT: { readonly [fault: string]: () => ReadableStream<Uint8Array> } = {
    "ends short": () => ReadableStream.from([pattern(5000), pattern(4999)]),
    "throws": () =>
      ReadableStream.from((async function* () {
        yield pattern(5000);
        await pause(5);
        throw new Error("the client left");
      })()),
    "is longer than it said": () => ReadableStream.from([pattern(5000), pattern(5001)]),
  };
  for (const [fault, stream] of Object.entries(SHORT)) {
    Deno.test(`${name}: a body stream that ${fault} is never a whole request`, () =>
      withRig(make, serve, async ({ send, peer }) => {
        await text(await send()); // so that both a fresh and a reused connection see it
        for (let round = 0; round < 2; round++) {
          const body = { kind: "stream", size: 10_000, stream: stream() } as const;
          failure(await send({ body }), "body_failed");
        }
        await Promise.all(peer.connections.map((conn) => conn.ended));
        assert.equal(peer.requests.length, 1);
      }));
  }

  Deno.test(`${name}: a body stream is pulled no faster than the member takes it`, () =>
    withRig(make, async (conn) => {
      conn.pause();
      await conn.ended;
    }, async ({ send }) => {
      let pulled = 0;
      const stream = new ReadableStream<Uint8Array>({
        pull(controller) {
          pulled++;
          controller.enqueue(new Uint8Array(65_536));
        },
      }, { highWaterMark: 0 });
      const abort = new AbortController();
      const size = 100 * 1024 * 1024;
      const sending = send({ body: { kind: "stream", size, stream }, signal: abort.signal });
      let before = -1;
      while (pulled > before) {
        before = pulled;
        await pause(150);
      }
      assert.ok(pulled > 0 && pulled < 800, `${pulled} pieces of 64 KiB of 1600 were pulled`);
      abort.abort();
      failure(await sending, "aborted");
    }));

  Deno.test(`${name}: an answer that comes before the upload is over is delivered`, () =>
    withRig(make, async (conn) => {
      if (!await conn.head()) return;
      await conn.write("HTTP/1.1 413 Too Large\r\ncontent-length: 3\r\n\r\nbig");
      await conn.ended;
    }, async ({ send, peer }) => {
      let cancelled = false;
      const stream = new ReadableStream<Uint8Array>({
        async pull(controller) {
          await pause(1);
          controller.enqueue(new Uint8Array(1024));
        },
        cancel() {
          cancelled = true;
        },
      }, { highWaterMark: 0 });
      const answer = answered(await send({ body: { kind: "stream", size: 1e9, stream } }));
      assert.equal(answer.status, 413);
      assert.equal(await text(answer), "big");
      await peer.connections[0]?.ended;
      assert.equal(cancelled, true, "the upload was let go");
      assert.equal(peer.requests.length, 0);
    }));

  Deno.test(`${name}: what would change the head's shape throws and sends nothing`, () =>
    withRig(make, serve, async ({ send, peer }) => {
      const bugs = [
        { headers: [["x-a", "1\r\nx-b: 2"]] },
        { headers: [["x-a", "1\n2"]] },
        { headers: [["x-a", "\0"]] },
        { headers: [["x a", "1"]] },
        { headers: [["x:a", "1"]] },
        { headers: [["", "1"]] },
        { headers: [["x-a", "\u0100"]] },
        { headers: [["transfer-encoding", "chunked"]] },
        { headers: [["content-length", "3"]] },
        { headers: [["host", "x"]] },
        { target: "/a b" },
        { target: "/a\r\nx: y" },
        { target: "http://x/" },
        { target: "*" },
        { endpoint: { hostname: "127.0.0.1/x", port: 1 } },
        { endpoint: { hostname: "127.0.0.1", port: 70_000 } },
      ] as const;
      for (const bug of bugs) await assert.rejects(send(bug), Error, JSON.stringify(bug));
      assert.equal(peer.connections.length, 0);
    }));
}
