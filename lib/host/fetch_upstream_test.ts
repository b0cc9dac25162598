import assert from "node:assert/strict";
import { upstreamConformance } from "../testing/upstream_conformance.ts";
import { upstreamPeer } from "../testing/upstream_peer.ts";
import { askOf, text, withRig } from "../testing/upstream_rig.ts";
import { fetchUpstream } from "./fetch_upstream.ts";

upstreamConformance("fetch", fetchUpstream, {
  connectTimeout: "fetch has no connect timeout and does not say when it is connected",
  bodilessOnce: "the library sends a request without a body again on a pooled connection",
  reused: "fetch does not tell",
  chunkedReuse: "its pool often drops a connection whose last chunk came late or early",
  brokenDetail: "every broken body is one and the same error",
  headerOrder: "Headers sorts and joins",
  addedHeaders: "fetch adds accept, accept-language and user-agent",
  lenientHeads: {
    accepted: ["bare LF", "length list"],
    reason: "its parser ends a line at LF and reads a list of equal lengths as one",
  },
});

Deno.test("fetch: proxy variables do not reroute it", async () => {
  const names = ["HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"];
  const before = names.map((name) => [name, Deno.env.get(name)] as const);
  const trap = await upstreamPeer(async (conn) => void await conn.request());
  try {
    for (const name of names) Deno.env.set(name, `http://127.0.0.1:${trap.endpoint.port}`);
    await withRig(fetchUpstream, async (conn) => {
      if (await conn.request() === null) return;
      await conn.write("HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok");
    }, async ({ send }) => {
      assert.equal(await text(await send()), "ok");
      for (const name of names) assert.ok(Deno.env.get(name), "put back");
    });
    assert.equal(trap.connections.length, 0);
  } finally {
    for (const [name, value] of before) {
      if (value === undefined) Deno.env.delete(name);
      else Deno.env.set(name, value);
    }
    await trap.close();
  }
});

Deno.test("fetch: a port that browsers block is unreachable, and nothing was sent", async () => {
  const upstream = fetchUpstream();
  const answer = await upstream.send(askOf({ hostname: "127.0.0.1", port: 6000 }));
  upstream.close();
  assert.ok(answer.kind === "failed");
  assert.deepEqual([answer.code, answer.sent], ["connect_unreachable", "no"]);
});
