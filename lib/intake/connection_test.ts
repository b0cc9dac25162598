import assert from "node:assert/strict";
import fc from "fast-check";
import { AcceptedMemoryConn, settle } from "../testing/accepted_memory_conn.ts";
import { FakeClock } from "../testing/fake_clock.ts";
import type { Answerer, Asked, Reply } from "./asked.ts";
import { Http1Server } from "./http1_server.ts";

const encoder = new TextEncoder();
const text = (bytes: Uint8Array) => String.fromCharCode(...bytes);

interface Rig {
  readonly server: Http1Server;
  readonly clock: FakeClock;
  readonly bugs: unknown[];
  connect(): AcceptedMemoryConn;
}

function rig(answer: Answerer): Rig {
  const clock = new FakeClock();
  const bugs: unknown[] = [];
  const server = new Http1Server({
    clock,
    answer,
    refusal: (code) => ({ status: code === "head_too_slow" ? 408 : 400, body: `"${code}"` }),
    onBug: (error) => bugs.push(error),
    times: { headMs: 1000, idleMs: 3000, stallMs: 5000 },
  });
  return {
    server,
    clock,
    bugs,
    connect() {
      const conn = new AcceptedMemoryConn();
      server.take(conn);
      return conn;
    },
  };
}

/** Answers with what it read. */
const echo: Answerer = async (asked, reply) => {
  const read = asked.body.length === 0 ? "" : await all(asked);
  await reply.whole(200, [], encoder.encode(`${asked.method} ${asked.target} ${read}`));
};

async function all(asked: Asked): Promise<string> {
  let got = "";
  for (;;) {
    const read = await asked.body.read();
    if (read.kind === "end") return got;
    if (read.kind === "broken") return `${got}<${read.code}>`;
    got += text(read.bytes);
  }
}

/** The bodies of the answers in `received`, which all state their length. */
function bodies(received: string): string[] {
  const found: string[] = [];
  for (let rest = received; rest !== "";) {
    const end = rest.indexOf("\r\n\r\n") + 4;
    const size = Number(/\r\ncontent-length: (\d+)\r\n/.exec(rest.slice(0, end))?.[1]);
    assert.ok(end > 3 && size >= 0, JSON.stringify(rest));
    found.push(rest.slice(end, end + size));
    rest = rest.slice(end + size);
  }
  return found;
}

const GET = "GET /a HTTP/1.1\r\nhost: x\r\n\r\n";
const post = (body: string, more = "") =>
  `POST /b HTTP/1.1\r\nhost: x\r\ncontent-length: ${body.length}\r\n${more}\r\n${body}`;
const CHUNKED = "POST /c HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\n" +
  "3\r\nabc\r\n4;x=1\r\ndefg\r\n0\r\nt: 1\r\n\r\n";

Deno.test("requests of one connection are answered in order, in one write each", async () => {
  const { connect, server } = rig(echo);
  const conn = connect();
  conn.send(GET + post("hello") + CHUNKED + post("x".repeat(70_000)) + GET);
  await settle(400);
  assert.deepEqual(bodies(conn.received), [
    "GET /a ",
    "POST /b hello",
    "POST /c abcdefg",
    `POST /b ${"x".repeat(70_000)}`,
    "GET /a ",
  ]);
  assert.match(conn.writes[0] ?? "", /^HTTP\/1\.1 200 OK\r\n[^]*GET \/a $/);
  assert.match(conn.writes[0] ?? "", /\r\ndate: [A-Z][a-z]{2}, \d\d [^\r]* GMT\r\n/);
  assert.equal(conn.closed, false);
  conn.leave();
  await settle();
  assert.equal(server.size, 0);
});

Deno.test("any split of valid requests gives the same answers", async () => {
  const kinds = fc.constantFrom(GET, CHUNKED, post("hello"), post("y".repeat(5000)), post(""));
  await fc.assert(
    fc.asyncProperty(
      fc.array(kinds, { minLength: 1, maxLength: 6 }),
      fc.integer({ min: 1, max: 5000 }),
      async (requests, step) => {
        const run = async (size: number) => {
          const { connect, bugs } = rig(echo);
          const conn = connect();
          conn.send(requests.join(""), size);
          await settle(Math.min(200_000, 4000 + 12 * Math.ceil(requests.join("").length / size)));
          assert.deepEqual(bugs, []);
          return bodies(conn.received);
        };
        const whole = await run(Number.POSITIVE_INFINITY);
        assert.equal(whole.length, requests.length);
        assert.ok(JSON.stringify(await run(step)) === JSON.stringify(whole), `step ${step}`);
      },
    ),
    { numRuns: 60 },
  );
});

Deno.test("a body nobody read is never the next request; the answer comes before the end", async () => {
  const refuse: Answerer = async (_asked, reply) => {
    await reply.whole(401, [], encoder.encode("no"));
  };
  // All of it is there: it is passed over, and the connection goes on.
  const near = rig(refuse);
  const conn = near.connect();
  conn.send(post(GET) + GET);
  await settle();
  assert.deepEqual(bodies(conn.received), ["no", "no"]);
  // The rest is on its way: the answer says that it is the last one, and what comes is read away.
  const far = rig(refuse);
  for (const unread of [post("x".repeat(100)).slice(0, -50), CHUNKED.slice(0, -20)]) {
    const cut = far.connect();
    cut.send(unread);
    await settle();
    assert.match(cut.received, /\r\nconnection: close\r\n/);
    assert.equal(cut.halfClosed, true);
    assert.equal(cut.closed, false, "the client would see a reset before the answer");
    cut.send(GET.repeat(10));
    await settle();
    assert.deepEqual(bodies(cut.received), ["no"]);
    cut.leave();
    await settle();
    assert.equal(cut.closed, true);
  }
  // Nor is it read away for ever.
  const slow = far.connect();
  slow.send(post("x".repeat(100)).slice(0, -50));
  await settle();
  far.server.sweep();
  await far.clock.advance(6000);
  far.server.sweep();
  assert.equal(slow.closed, true);
});

/** Where a request stands when its client leaves. */
const LEAVES: Readonly<Record<string, readonly [request: string, answer: Answerer]>> = {
  "without a body, before the answer": [GET, wait],
  "its body unread": [post("x".repeat(50)).slice(0, -10), async (asked, reply) => {
    void asked.body.whole();
    await wait(asked, reply);
  }],
  "its body read in part": [post("x".repeat(50)).slice(0, -10), async (asked, reply) => {
    await asked.body.read();
    await wait(asked, reply);
  }],
  "its body read whole": [post("x".repeat(9000)), async (asked, reply) => {
    await asked.body.whole();
    await wait(asked, reply);
  }],
  "its chunked body read whole": [CHUNKED, async (asked, reply) => {
    await all(asked);
    await wait(asked, reply);
  }],
  "in the answer": [GET, async (asked, reply) => {
    await reply.open(200, [], null, encoder.encode("a"));
    await wait(asked, reply);
  }],
  "with the next request behind it": [GET + GET, wait],
};

/** Waits until the client has left. */
async function wait(_asked: Asked, reply: Reply): Promise<void> {
  await new Promise<void>((resolve) => reply.onGone = resolve);
}

for (const [when, [request, answer]] of Object.entries(LEAVES)) {
  for (const how of ["fin", "reset"] as const) {
    Deno.test(`a client that leaves (${how}) ${when} is noticed at once`, async () => {
      let left = false;
      const { connect, server, bugs } = rig(async (asked, reply) => {
        await answer(asked, reply);
        left = true;
        assert.equal(await reply.whole(200, [], null).catch(() => false), false);
      });
      const conn = connect();
      conn.send(request);
      await settle();
      assert.equal(left, false);
      conn.leave(how);
      await settle();
      assert.equal(left, true);
      assert.equal(conn.closed, true);
      assert.equal(server.size, 0);
      assert.deepEqual(bugs, []);
    });
  }
}

/** Opens an answer of three pieces. */
function pieces(length: number | null): Answerer {
  return async (_asked, reply) => {
    await reply.open(200, [["content-length", "9"]], length, encoder.encode("ab"));
    // Read into the space given, as a relay does, with framing of the member's before it.
    const space = reply.space();
    space.set(encoder.encode("..cd"));
    await reply.write(space.subarray(2, 4));
    await reply.end(encoder.encode("ef"));
  };
}

Deno.test("framing: a length that is known, else chunks, else the close", async () => {
  const asked = async (answer: Answerer, request: string) => {
    const conn = rig(answer).connect();
    conn.send(request);
    await settle();
    return conn;
  };
  const known = await asked(pieces(6), GET);
  assert.match(known.received, /\r\ncontent-length: 6\r\n\r\nabcdef$/);
  assert.equal(known.received.includes("content-length: 9"), false);
  const chunked = await asked(pieces(null), GET);
  assert.match(chunked.received, /\r\ntransfer-encoding: chunked\r\n/);
  assert.equal(chunked.received.includes("content-length"), false);
  assert.match(chunked.received, /\r\n\r\n2\r\nab\r\n2\r\ncd\r\n2\r\nef\r\n0\r\n\r\n$/);
  assert.equal(chunked.writes.length, 3, "head and first bytes go together, end and last too");
  assert.equal(chunked.closed, false);
  const old = await asked(pieces(null), GET.replace("1.1", "1.0"));
  assert.match(old.received, /\r\nconnection: close\r\n\r\nabcdef$/);
  assert.equal(old.closed, true);
  const kept = GET.replace("1.1", "1.0").replace("\r\n\r\n", "\r\nconnection: keep-alive\r\n\r\n");
  const oldKept = await asked(pieces(6), kept);
  assert.match(oldKept.received, /\r\nconnection: keep-alive\r\n/);
  assert.equal(oldKept.closed, false);
  const head = await asked(pieces(null), GET.replace("GET", "HEAD"));
  assert.match(head.received, /\r\n\r\n$/);
  const none = await asked((_asked, reply) => void reply.whole(204, [], null), GET);
  assert.match(none.received, /^HTTP\/1\.1 204 No Content\r\n/);
  assert.equal(/content-length|transfer-encoding/.test(none.received), false);
});

Deno.test("chunks of every size say what they hold, in the space or beside it", async () => {
  for (const size of [1, 9, 15, 16, 17, 255, 256, 4000, 4081, 5000, 65_536, 70_000]) {
    for (const inSpace of [true, false]) {
      const conn = rig(async (_asked, reply) => {
        await reply.open(200, [], null, null);
        for (let turn = 0; turn < 3; turn++) {
          const space = reply.space();
          const bytes = inSpace && size <= space.length
            ? space.subarray(0, size)
            : new Uint8Array(size);
          await reply.write(bytes.fill(0x61 + turn));
        }
        await reply.end(null);
      }).connect();
      conn.send(GET);
      await settle(200);
      const [, body] = conn.received.split("\r\n\r\n", 2);
      const chunk = (letter: string) => `${size.toString(16)}\r\n${letter.repeat(size)}\r\n`;
      assert.equal(`${body}\r\n\r\n`, `${chunk("a")}${chunk("b")}${chunk("c")}0\r\n\r\n`);
    }
  }
});

Deno.test("an answer that breaks off, runs short or is never given looks broken", async () => {
  const answers: Readonly<Record<string, Answerer>> = {
    break: async (_asked, reply) => {
      await reply.open(200, [], null, encoder.encode("ab"));
      reply.break();
    },
    short: async (_asked, reply) => {
      await reply.open(200, [], 5, encoder.encode("ab"));
      assert.equal(await reply.end(null), false);
    },
    throws: async (_asked, reply) => {
      await reply.open(200, [], null, encoder.encode("ab"));
      throw new Error("a bug");
    },
    never: () => {},
  };
  for (const [how, answer] of Object.entries(answers)) {
    const { connect, bugs } = rig(answer);
    const conn = connect();
    conn.send(GET + GET);
    await settle();
    assert.equal(conn.closed, true, how);
    assert.equal(conn.received.includes("0\r\n\r\n"), false, how);
    assert.equal(conn.received.split("HTTP/1.1").length <= 2, true, "the next was not answered");
    assert.equal(bugs.length, how === "throws" ? 1 : 0);
  }
});

Deno.test("expect: the go-ahead is given when the body is first wanted, and not else", async () => {
  const waiting = post("hello", "expect: 100-continue\r\n");
  const split = waiting.length - 5;
  const conn = rig(echo).connect();
  conn.send(waiting.slice(0, split));
  await settle();
  assert.deepEqual(conn.writes, ["HTTP/1.1 100 Continue\r\n\r\n"]);
  conn.send(waiting.slice(split));
  await settle();
  assert.match(conn.writes[1] ?? "", /POST \/b hello$/);
  const eager = rig(echo).connect();
  eager.send(waiting);
  await settle();
  assert.deepEqual(bodies(eager.received), ["POST /b hello"]);
  const refused = rig(async (_asked, reply) => {
    await reply.whole(401, [], null);
  }).connect();
  refused.send(waiting.slice(0, split));
  await settle();
  assert.match(refused.received, /^HTTP\/1\.1 401 [^]*connection: close/);
});

Deno.test("time: for a head, between requests, and for a client that does not read", async () => {
  const { connect, clock, server } = rig(echo);
  const silent = connect();
  const slow = connect();
  slow.send("GET / HT");
  const kept = connect();
  kept.send(GET);
  const stuck = connect();
  stuck.stalled = true;
  stuck.send(GET);
  await settle();
  server.sweep();
  await clock.advance(900);
  slow.send("T");
  await settle();
  server.sweep();
  assert.deepEqual([silent.closed, slow.closed, kept.closed], [false, false, false]);
  await clock.advance(200);
  server.sweep();
  await settle();
  assert.equal(silent.closed, true);
  assert.match(slow.received, /^HTTP\/1\.1 408 [^]*"head_too_slow"$/);
  assert.equal(slow.halfClosed, true);
  assert.equal(kept.closed, false);
  await clock.advance(2000);
  server.sweep();
  assert.equal(kept.closed, true);
  assert.equal(stuck.closed, false);
  await clock.advance(3000);
  server.sweep();
  assert.equal(stuck.closed, true);
  await clock.advance(2000);
  server.sweep();
  assert.equal(server.size, 0, "nor does one linger for ever");
});

Deno.test("leaving: answers under way end well, and their connections with them", async () => {
  const going = Promise.withResolvers<void>();
  const { connect, server } = rig(async (_asked, reply) => {
    await reply.open(200, [], null, encoder.encode("a"));
    await going.promise;
    await reply.end(encoder.encode("b"));
  });
  const [busy, idle, part] = [connect(), connect(), connect()];
  busy.send(GET);
  part.send(GET.slice(0, 10));
  await settle();
  server.leave(0);
  server.closeIdle();
  assert.deepEqual([busy.closed, idle.closed, part.closed], [false, true, false]);
  part.send(GET.slice(10));
  await settle();
  assert.match(part.received, /connection: close/);
  going.resolve();
  await settle();
  assert.match(busy.received, /1\r\nb\r\n0\r\n\r\n$/);
  await server.empty();
});

Deno.test("a refused head is answered, counted by its code, and is the last", async () => {
  const conn = rig(echo).connect();
  conn.send(`${GET}GET / HTTP/1.1\r\nhost : x\r\n\r\n${GET}`);
  await settle();
  assert.match(conn.received, /HTTP\/1\.1 400 Bad Request\r\n[^]*x-anvil-code: head_malformed/);
  assert.match(conn.received, /connection: close\r\n\r\n"head_malformed"$/);
});
