/**
 * Conformance: one request, sent once. The peer counts.
 *
 * @module
 */

import assert from "node:assert/strict";
import type { UpstreamBody } from "../relay/upstream.ts";
import type { Shortfalls } from "./upstream_conformance.ts";
import type { PeerConn } from "./upstream_peer.ts";
import {
  answered,
  askOf,
  bodyOf,
  failure,
  type MakeUpstream,
  pattern,
  pause,
  text,
  within,
  withRig,
} from "./upstream_rig.ts";

const OK = "HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok";

/** How a peer fails once the request is there. */
const FAULTS: { readonly [name: string]: (conn: PeerConn) => Promise<void> } = {
  "request read, then FIN": (conn) => Promise.resolve(conn.fin()),
  "request read, then RST": (conn) => Promise.resolve(conn.reset()),
  "half a head, then FIN": async (conn) => {
    await conn.write("HTTP/1.1 200 OK\r\ncontent-le");
    conn.fin();
  },
};

const BODIES: { readonly [name: string]: () => UpstreamBody } = {
  "no body": () => ({ kind: "none" }),
  "bytes": () => bodyOf("bytes", pattern(1000)),
  "large bytes": () => bodyOf("bytes", pattern(200_000)),
  "a stream": () => bodyOf("stream", pattern(1000)),
};

/** Registers these tests. */
export function sendsOnce(name: string, make: MakeUpstream, shortfalls: Shortfalls): void {
  for (const [fault, fail] of Object.entries(FAULTS)) {
    for (const [kind, body] of Object.entries(BODIES)) {
      Deno.test(`${name}: fresh, ${kind}, ${fault}: one POST, not answered`, () =>
        withRig(make, async (conn) => {
          if (await conn.request() !== null) await fail(conn);
        }, async ({ send, peer }) => {
          const { sent } = failure(await send({ body: body() }), "closed_before_head");
          assert.equal(sent, "unknown");
          await pause(20);
          assert.equal(peer.requests.length, 1);
          assert.equal(peer.connections.length, 1);
        }));

      const again = body().kind === "none" && shortfalls.bodilessOnce !== undefined;
      const outcome = again ? "sent again, a known shortfall" : "one POST, not answered";
      Deno.test(`${name}: reused, ${kind}, ${fault}: ${outcome}`, () =>
        withRig(make, async (conn) => {
          if (await conn.request() === null) return;
          await conn.write(OK);
          if (await conn.request() !== null) await fail(conn);
        }, async ({ send, peer }) => {
          assert.equal(await text(await send({ body: body() })), "ok");
          const second = await send({ body: body() });
          if (again) {
            assert.equal(await text(second), "ok", "no shortfall any more: take it off the list");
            return;
          }
          assert.equal(failure(second, "closed_before_head").sent, "unknown");
          await pause(20);
          assert.equal(peer.requests.length, 2);
          assert.equal(peer.connections.length, 1, "the second went over the first's connection");
        }));
    }
  }

  for (const [kind, body] of Object.entries(BODIES)) {
    Deno.test(`${name}: ${kind}, closed at accept: no POST, no second connection`, () =>
      withRig(make, (conn) => Promise.resolve(conn.destroy()), async ({ send, peer }) => {
        failure(await send({ body: body() }), "closed_before_head");
        await pause(20);
        assert.equal(peer.requests.length, 0);
        assert.equal(peer.connections.length, 1);
      }));

    Deno.test(`${name}: ${kind}, refused: not sent`, async () => {
      const listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
      const { port } = listener.addr as Deno.NetAddr;
      listener.close();
      const upstream = make();
      const answer = await upstream.send(
        askOf({ hostname: "127.0.0.1", port }, { body: body() }),
      );
      upstream.close();
      assert.equal(failure(answer, "connect_refused").sent, "no");
    });
  }

  Deno.test(`${name}: a GET that fails on a reused connection is sent once`, () =>
    withRig(make, async (conn) => {
      if (await conn.request() === null) return;
      await conn.write(OK);
      await conn.request();
      conn.destroy();
    }, async ({ send, peer }) => {
      await text(await send({ method: "GET", headers: [] }));
      const answer = await send({ method: "GET", headers: [] });
      if (shortfalls.bodilessOnce === undefined) {
        failure(answer, "closed_before_head");
        assert.equal(peer.requests.length, 2);
      } else {
        assert.equal(await text(answer), "ok", "no shortfall any more: take it off the list");
        assert.equal(peer.requests.length, 3);
      }
    }));

  for (const end of ["fin", "reset"] as const) {
    Deno.test(`${name}: an idle connection that ended by ${end} is not used`, () =>
      withRig(make, async (conn) => {
        while (await conn.request() !== null) {
          await conn.write(OK);
          if (conn.number > 0) continue;
          await pause(10);
          conn[end]();
          return;
        }
      }, async ({ send, peer }) => {
        await text(await send({ body: bodyOf("bytes", pattern(10)) }));
        await pause(60);
        const second = answered(await send({ body: bodyOf("bytes", pattern(10)) }));
        assert.equal(second.reused, false);
        assert.equal(await text(second), "ok");
        assert.deepEqual(peer.requests.map((seen) => seen.connection), [0, 1]);
      }));
  }

  Deno.test(`${name}: a connection closed just as the next request goes: at most one POST`, () =>
    withRig(make, async (conn) => {
      if (await conn.request() === null) return;
      conn.write(OK);
      conn.destroy();
    }, async ({ send, peer }) => {
      for (let round = 1; round <= 20; round++) {
        const before = peer.requests.length;
        const first = await send({ body: bodyOf("bytes", pattern(10)) });
        const posts = peer.requests.length - before;
        assert.ok(posts <= 1, `${posts} POSTs for one request`);
        if (first.kind === "failed") {
          assert.ok(first.sent === "unknown" || posts === 0);
        } else {
          await first.body.read(new Uint8Array(100));
          first.body.cancel();
          assert.equal(posts, 1);
        }
      }
    }));

  Deno.test(`${name}: bytes nobody asked for end an idle connection`, () =>
    withRig(make, async (conn) => {
      for (let served = 0; await conn.request() !== null; served++) {
        await conn.write(conn.number === 0 ? OK : OK.replace("ok", "OK"));
        if (conn.number > 0 || served > 0) continue;
        await pause(10);
        await conn.write(OK.replace("ok", "no"));
      }
    }, async ({ send, peer }) => {
      await text(await send());
      await pause(60);
      assert.equal(await text(await send()), "OK", "the answer to this request, not a stray one");
      assert.equal(peer.requests[1]?.connection, 1);
    }));

  Deno.test(`${name}: a connection is used again, and closed after 3 s of rest`, () =>
    withRig(make, async (conn) => {
      while (await conn.request() !== null) await conn.write(OK);
    }, async ({ send, peer }) => {
      await text(await send());
      const second = answered(await send());
      if (shortfalls.reused === undefined) assert.equal(second.reused, true);
      await text(second);
      assert.equal(peer.connections.length, 1);
      // A pool may look for what is over only as often as it may rest: twice the 3 s, and some.
      await within(peer.connections[0]?.ended ?? Promise.reject(), 9000);
      await text(await send());
      assert.equal(peer.connections.length, 2);
    }));

  Deno.test(`${name}: after close nothing is sent and no idle connection stays`, () =>
    withRig(make, async (conn) => {
      while (await conn.request() !== null) await conn.write(OK);
    }, async ({ send, peer, upstream }) => {
      await text(await send());
      upstream.close();
      upstream.close();
      assert.equal(failure(await send(), "aborted").sent, "no");
      await within(peer.connections[0]?.ended ?? Promise.reject(), 4500);
      assert.equal(peer.requests.length, 1);
    }));
}
