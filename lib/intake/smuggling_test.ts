import assert from "node:assert/strict";
import fc from "fast-check";
import { AcceptedMemoryConn, settle } from "../testing/accepted_memory_conn.ts";
import { FakeClock } from "../testing/fake_clock.ts";
import { Http1Server } from "./http1_server.ts";

const HIDDEN = "GET /smuggled HTTP/1.1\r\nhost: x\r\n\r\n";

/** The targets asked for when a client sends `text`, and whether anything escaped as a bug. */
async function targetsOf(text: string): Promise<readonly string[]> {
  const targets: string[] = [];
  const bugs: unknown[] = [];
  const server = new Http1Server({
    clock: new FakeClock(),
    answer: async (asked, reply) => {
      targets.push(asked.target);
      while ((await asked.body.read()).kind === "bytes");
      await reply.whole(200, [], null);
    },
    refusal: () => ({ status: 400, body: "" }),
    onBug: (error) => bugs.push(error),
    times: { headMs: 1000, idleMs: 1000, stallMs: 1000 },
  });
  const conn = new AcceptedMemoryConn();
  server.take(conn);
  conn.send(text);
  await settle(120);
  conn.leave();
  await settle();
  assert.deepEqual(bugs, []);
  assert.equal(server.size, 0);
  return targets;
}

/** How the most lenient of readers would understand the lengths that a head states. */
function lenientLengths(head: string): string[] {
  return head.split(/\r\n|\n|\r/).flatMap((line) => {
    const match = /^[\s\0]*(content-length|transfer-encoding)[\s\0]*:[\s\0]*(.*?)[\s\0]*$/i.exec(
      line,
    );
    return match === null ? [] : [`${match[1]?.toLowerCase()} ${match[2]}`];
  });
}

const character = fc.oneof(
  fc.constantFrom("\r", "\n", "\r\n", "\0", " ", "\t", ":", ",", ";", "0", "1", "\x0b", "\x80"),
  fc.constantFrom("content-length: 0\r\n", "transfer-encoding: chunked\r\n", "x: y\r\n", "chunked"),
);
const change = fc.tuple(fc.nat(), character, fc.constantFrom("put", "insert"));

Deno.test("what hides in a body is not asked for, whatever is done to the head before it", async () => {
  const head = "POST /first HTTP/1.1\r\nhost: x\r\ncontent-length: 35\r\nx-a: b\r\n\r\n";
  assert.equal(HIDDEN.length, 35);
  assert.deepEqual(await targetsOf(head + HIDDEN), ["/first"]);
  await fc.assert(
    fc.asyncProperty(fc.array(change, { minLength: 1, maxLength: 3 }), async (changes) => {
      let mutated = head;
      for (const [where, text, kind] of changes) {
        const at = where % (head.length - 4);
        mutated = mutated.slice(0, at) + text + mutated.slice(kind === "insert" ? at : at + 1);
      }
      const targets = await targetsOf(mutated + HIDDEN);
      if (!targets.includes("/smuggled")) return;
      // Then no reader at all could have taken it for the body: the head says so in every reading.
      const lengths = lenientLengths(mutated);
      assert.equal(lengths.includes("content-length 35"), false, JSON.stringify(mutated));
      assert.equal(lengths.some((one) => /chunked/i.test(one)), false, JSON.stringify(mutated));
    }),
    { numRuns: 3000 },
  );
});

Deno.test("nor in a chunked body, whatever is done to its framing", async () => {
  const head = "POST /first HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\n";
  const chunks = `23\r\n${HIDDEN}\r\n0\r\n\r\n`;
  assert.deepEqual(await targetsOf(head + chunks), ["/first"]);
  const byte = fc.constantFrom("\r", "\n", "\0", " ", ";", "0", "2", "f", "g", "-", "+", "x");
  await fc.assert(
    fc.asyncProperty(fc.constantFrom(0, 1, 2, 3), byte, async (at, text) => {
      const mutated = chunks.slice(0, at) + text + chunks.slice(at + 1);
      const targets = await targetsOf(head + mutated);
      // A shorter chunk that happens to be well framed cannot be made by one byte here.
      assert.equal(targets.includes("/smuggled"), false, JSON.stringify(mutated));
    }),
  );
});
