import assert from "node:assert/strict";
import { http1Upstream } from "../relay/http1.ts";
import { tempDir } from "./temp_dir.ts";
import { systemClock } from "../host/clock.ts";
import { unixDial } from "../host/unix_dial.ts";

const ASK = {
  endpoint: { hostname: "127.0.0.1", port: 1 },
  method: "GET",
  target: "/version",
  headers: [],
  body: { kind: "none" },
  connectMs: 1000,
  signal: new AbortController().signal,
} as const;
const ignore = Deno.build.os === "windows";

Deno.test({
  name: "unix dial: a request goes over the socket and nowhere else",
  ignore,
  async fn() {
    await using dir = await tempDir();
    const path = dir.at("engine.sock");
    const heard: string[] = [];
    await using _server = Deno.serve({ path, onListen: () => {} }, (request) => {
      heard.push(new URL(request.url).pathname);
      return new Response("pong");
    });
    const upstream = http1Upstream(unixDial(path), systemClock);
    const answer = await upstream.send(ASK);
    assert.ok(answer.kind === "answered");
    assert.equal(answer.status, 200);
    const read = await answer.body.read(new Uint8Array(64));
    assert.ok(read.kind === "bytes");
    assert.equal(new TextDecoder().decode(read.bytes), "pong");
    assert.equal((await answer.body.read(new Uint8Array(64))).kind, "end");
    assert.deepEqual(heard, ["/version"]);
    upstream.close();
  },
});

Deno.test({
  name: "unix dial: no socket, a dead socket and an aborted ask are told, and nothing was sent",
  ignore,
  async fn() {
    await using dir = await tempDir();
    const path = dir.at("engine.sock");
    const upstream = http1Upstream(unixDial(path), systemClock);
    const failure = async (signal: AbortSignal = ASK.signal) => {
      const answer = await upstream.send({ ...ASK, signal });
      return answer.kind === "failed" ? `${answer.code} ${answer.sent}` : answer.status;
    };
    assert.equal(await failure(), "connect_refused no");
    await Deno.writeTextFile(path, "no socket");
    assert.equal(await failure(), "connect_refused no");
    const over = new AbortController();
    over.abort();
    assert.equal(await failure(over.signal), "aborted no");
    upstream.close();
  },
});
