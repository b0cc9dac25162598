import assert from "node:assert/strict";
import { FakeClock } from "../testing/fake_clock.ts";
import { MemoryConn } from "../testing/upstream_memory_conn.ts";
import { answered, askOf, bodyOf, drain, failure, pattern, text } from "../testing/upstream_rig.ts";
import type { Dial } from "./dial.ts";
import { http1Upstream } from "./http1.ts";
import type { UpstreamAsk } from "./upstream.ts";

const ENDPOINT = { hostname: "192.0.2.7", port: 8001 };
const OK = bytes("HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok");

function bytes(latin1: string): Uint8Array {
  return Uint8Array.from(latin1, (character) => character.charCodeAt(0));
}

function latin1(parts: readonly Uint8Array[]): string {
  return parts.map((part) => String.fromCharCode(...part)).join("");
}

/** A client whose dials give `conns` in order. */
function clientOf(conns: MemoryConn[], limits?: { perEndpoint: number; idleMs: number }) {
  const clock = new FakeClock();
  const left = [...conns];
  let dials = 0;
  const dial: Dial = () => {
    dials++;
    const conn = left.shift();
    if (conn === undefined) throw new Error("dialled more often than the test foresaw");
    return Promise.resolve({ kind: "connected", conn });
  };
  const upstream = http1Upstream(dial, clock, limits);
  const send = (parts: Partial<UpstreamAsk> = {}) => upstream.send(askOf(ENDPOINT, parts));
  return { clock, upstream, send, dials: () => dials };
}

Deno.test("a small body of bytes goes out with its head in one write", async () => {
  const conn = new MemoryConn([OK], "stay");
  const { send, upstream } = clientOf([conn]);
  const body = {
    kind: "bytes",
    size: 4,
    chunks: [bytes("{"), bytes("\xff\x00"), bytes("}")],
  } as const;
  assert.equal(
    await text(await send({ body, headers: [["x-a", "\xe9"]], target: "/v1/x?y" })),
    "ok",
  );
  assert.deepEqual(conn.writes.map((write) => latin1([write])), [
    "POST /v1/x?y HTTP/1.1\r\nhost: 192.0.2.7:8001\r\nx-a: \xe9\r\ncontent-length: 4\r\n\r\n{\xff\x00}",
  ]);
  upstream.close();
  assert.equal(conn.closed, true);
});

Deno.test("a body says whether any of it came with the head", async () => {
  const head = "HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n";
  for (const [pieces, holds] of [[[`${head}ok`], true], [[head, "ok"], false]] as const) {
    const { send, upstream } = clientOf([new MemoryConn(pieces.map(bytes), "stay")]);
    const { body } = answered(await send());
    assert.equal(body.holds, holds);
    await drain(body);
    assert.equal(body.holds, false);
    upstream.close();
  }
});

Deno.test("an IPv6 endpoint stands in brackets in host", async () => {
  const conn = new MemoryConn([OK], "fin");
  const { send } = clientOf([conn]);
  await text(await send({ endpoint: { hostname: "2001:db8::1", port: 80 }, method: "GET" }));
  assert.match(latin1(conn.writes), /^GET \S+ HTTP\/1\.1\r\nhost: \[2001:db8::1\]:80\r\n/);
  assert.doesNotMatch(latin1(conn.writes), /content-length/);
});

Deno.test("partial writes are continued, not repeated", async () => {
  const conn = new MemoryConn([], "stay");
  conn.writeRoom = 7;
  const { send, upstream } = clientOf([conn]);
  const body = bodyOf("stream", pattern(1000));
  const sending = send({ body });
  while (conn.writes.reduce((sum, write) => sum + write.length, 0) < 1000) await Promise.resolve();
  await new Promise((resolve) => setTimeout(resolve, 0));
  conn.speak(OK);
  assert.equal(await text(await sending), "ok");
  const sent = latin1(conn.writes);
  assert.equal(sent.slice(sent.indexOf("\r\n\r\n") + 4), latin1([pattern(1000)]));
  upstream.close();
});

Deno.test("a first write that is rejected says: not sent", async () => {
  const conn = new MemoryConn([], "stay");
  conn.writeRoom = 0;
  const { send } = clientOf([conn]);
  const { code, sent } = failure(await send({ body: bodyOf("bytes", pattern(10)) }));
  assert.deepEqual([code, sent, conn.closed], ["closed_before_head", "no", true]);
});

Deno.test("a later write that is rejected says: unknown, after the member's last word", async () => {
  const conn = new MemoryConn([], "stay");
  const { send, dials } = clientOf([conn, new MemoryConn([], "fin")]);
  const stream = new ReadableStream<Uint8Array>({
    pull(controller) {
      if (conn.writes.length > 1) conn.writeRoom = 0;
      controller.enqueue(new Uint8Array(10));
    },
  }, { highWaterMark: 0 });
  const sending = send({ body: { kind: "stream", size: 1000, stream } });
  while (conn.writeRoom > 0) await new Promise((resolve) => setTimeout(resolve, 0));
  conn.speak(bytes("HTTP/1.1 413 No\r\ncontent-length: 0\r\n\r\n"), "reset");
  assert.equal(answered(await sending).status, 413);
  assert.equal(conn.closed, true);
  const { code, sent } = failure(await send({ body: bodyOf("bytes", pattern(9)) }));
  assert.deepEqual([code, sent, dials()], ["closed_before_head", "unknown", 2]);
});

Deno.test("an early answer stops the upload at once, and costs the line", async () => {
  const early = bytes("HTTP/1.1 413 No\r\ncontent-length: 2\r\n\r\nno");
  const conn = new MemoryConn([early], "stay");
  const { send } = clientOf([conn]);
  let cancelled = false;
  const stream = new ReadableStream<Uint8Array>({ cancel: () => void (cancelled = true) });
  const answer = answered(await send({ body: { kind: "stream", size: 1000, stream } }));
  await Promise.resolve();
  assert.deepEqual([answer.status, cancelled, conn.closed], [413, true, false]);
  assert.equal(await text(answer), "no");
  assert.equal(conn.closed, true);
});

Deno.test("the read left pending on an idle line is the first read of the next answer", async () => {
  const conn = new MemoryConn([OK], "stay");
  const { send, upstream, dials } = clientOf([conn]);
  assert.equal(await text(await send()), "ok");
  for (let round = 0; round < 3; round++) {
    const sending = send();
    for (
      const byte of bytes(
        "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n2\r\nhi\r\n0\r\n\r\n",
      )
    ) {
      conn.speak(Uint8Array.of(byte));
    }
    const answer = answered(await sending);
    assert.equal(answer.reused, true);
    assert.equal(await text(answer), "hi");
  }
  assert.equal(dials(), 1);
  upstream.close();
});

Deno.test("the newest idle line is used first; the oldest is closed when its time is over", async () => {
  const [one, two] = [new MemoryConn([OK], "stay"), new MemoryConn([OK], "stay")];
  const { send, clock, upstream } = clientOf([one, two]);
  const [first, second] = [answered(await send()), answered(await send())];
  await text(first);
  await clock.advance(1000);
  await text(second);
  two.speak(OK);
  // nobody asked: `two` is dropped, `one` is still there
  await clock.advance(0);
  assert.deepEqual([one.closed, two.closed], [false, true]);
  await clock.advance(1999);
  assert.equal(one.closed, false);
  await clock.advance(1);
  assert.equal(one.closed, true);
  assert.equal(clock.sleeping, 0, "no timer while nothing is idle");
  upstream.close();
});

Deno.test("no more idle lines than the limit, each endpoint for itself", async () => {
  const conns = [1, 2, 3].map(() => new MemoryConn([OK], "stay"));
  const { send, upstream } = clientOf(conns, { perEndpoint: 1, idleMs: 3000 });
  const other = { hostname: "192.0.2.8", port: 8001 };
  const answers = [await send(), await send(), await send({ endpoint: other })];
  for (const answer of answers) await text(answer);
  assert.deepEqual(conns.map((conn) => conn.closed), [false, true, false]);
  upstream.close();
  assert.deepEqual(conns.map((conn) => conn.closed), [true, true, true]);
});

for (
  const [why, answer] of [
    ["connection: close", "HTTP/1.1 200 OK\r\nconnection: x, Close\r\ncontent-length: 2\r\n\r\nok"],
    ["HTTP/1.0", "HTTP/1.0 200 OK\r\nconnection: keep-alive\r\ncontent-length: 2\r\n\r\nok"],
    ["a byte behind the body", "HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nokH"],
    [
      "a byte behind the last chunk",
      "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\nH",
    ],
  ] as const
) {
  Deno.test(`not used again: ${why}`, async () => {
    const conn = new MemoryConn([bytes(answer)], "stay");
    const { send } = clientOf([conn]);
    assert.equal(await text(await send()), "ok");
    assert.equal(conn.closed, true);
  });
}

Deno.test("chunks that came together come out together, over the caller's buffer", async () => {
  const conn = new MemoryConn([
    bytes("HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n"),
    bytes("2\r\nab\r\n3\r\ncde\r\n1"),
    bytes("\r\nf\r\n0\r\n\r\n"),
  ], "stay");
  const { send, upstream } = clientOf([conn]);
  const { body } = answered(await send());
  const into = new Uint8Array(64);
  const read = await body.read(into);
  assert.ok(read.kind === "bytes");
  assert.equal(latin1([read.bytes]), "abcde");
  assert.equal(read.bytes.buffer, into.buffer);
  assert.equal(latin1([(await drain(body)).bytes]), "f");
  assert.equal(conn.closed, false);
  upstream.close();
});

Deno.test("payload before a fault comes out before the fault is told", async () => {
  const conn = new MemoryConn([
    bytes("HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n2\r\nab\r\nzz\r\n"),
  ], "stay");
  const { send } = clientOf([conn]);
  const { bytes: got, last } = await drain(answered(await send()).body);
  assert.equal(latin1([got]), "ab");
  assert.equal(last.kind === "broken" && last.code, "malformed");
  assert.equal(conn.closed, true);
});

Deno.test("two reads at a time, and a read into nothing, are bugs", async () => {
  const conn = new MemoryConn([bytes("HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n")], "stay");
  const { send } = clientOf([conn]);
  const { body } = answered(await send());
  await assert.rejects(body.read(new Uint8Array(0)), /no room/);
  const read = body.read(new Uint8Array(1));
  await assert.rejects(body.read(new Uint8Array(1)), /one read at a time/);
  body.cancel();
  assert.equal((await read).kind, "broken");
});

Deno.test("close refuses sends and closes lines that come back", async () => {
  const conn = new MemoryConn([OK], "stay");
  const { send, upstream } = clientOf([conn]);
  const answer = await send();
  upstream.close();
  assert.equal(await text(answer), "ok", "what is under way goes on");
  assert.equal(conn.closed, true);
  assert.equal(failure(await send(), "aborted").sent, "no");
});
