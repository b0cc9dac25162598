import assert from "node:assert/strict";
import fc from "fast-check";
import { FakeClock } from "../testing/fake_clock.ts";
import { MemoryConn, type MemoryEnd } from "../testing/upstream_memory_conn.ts";
import { askOf, drain, within } from "../testing/upstream_rig.ts";
import { http1Upstream } from "./http1.ts";

const latin1 = (text: string) => Uint8Array.from(text, (character) => character.charCodeAt(0));

/** A valid answer: its bytes, its payload, and whether its end is known without FIN. */
interface Answer {
  readonly raw: Uint8Array;
  readonly payload: Uint8Array;
  readonly framed: boolean;
}

const payloads = fc.array(fc.uint8Array({ minLength: 1, maxLength: 40 }), { maxLength: 8 });
const extension = fc.constantFrom("", ";", ";a", ';a=b;c="d e"');
const trailer = fc.constantFrom("", "x: 1\r\n", "x: 1\r\ny:\r\n");
const interim = fc.constantFrom(
  "",
  "HTTP/1.1 100 Continue\r\n\r\n",
  "HTTP/1.1 103 E\r\nx: y\r\n\r\n",
);

const answers: fc.Arbitrary<Answer> = fc.record({
  framing: fc.constantFrom("length", "chunked", "close"),
  parts: payloads,
  extension,
  trailer,
  interim,
}).map(({ framing, parts, extension, trailer, interim }) => {
  const payload = Uint8Array.from(parts.flatMap((part) => [...part]));
  const head = `${interim}HTTP/1.1 200 OK\r\nx-a: b\r\n`;
  if (framing !== "chunked") {
    const line = framing === "length" ? `content-length: ${payload.length}\r\n` : "";
    return {
      raw: Uint8Array.from([...latin1(`${head}${line}\r\n`), ...payload]),
      payload,
      framed: framing === "length",
    };
  }
  const chunks = parts.flatMap((part) => [
    ...latin1(`${part.length.toString(16)}${extension}\r\n`),
    ...part,
    ...latin1("\r\n"),
  ]);
  return {
    raw: Uint8Array.from([
      ...latin1(`${head}transfer-encoding: chunked\r\n\r\n`),
      ...chunks,
      ...latin1(`0${extension}\r\n${trailer}\r\n`),
    ]),
    payload,
    framed: true,
  };
});

/** Sizes of the reads that the connection gives, used round and round. */
const splits = fc.array(fc.integer({ min: 1, max: 30 }), { minLength: 1, maxLength: 6 });

function cut(raw: Uint8Array, sizes: readonly number[]): Uint8Array[] {
  const pieces: Uint8Array[] = [];
  for (let at = 0, turn = 0; at < raw.length; turn++) {
    const size = sizes[turn % sizes.length] as number;
    pieces.push(raw.subarray(at, at + size));
    at += size;
  }
  return pieces;
}

/** What came of `pieces` as the answer to one request. */
async function outcome(pieces: readonly Uint8Array[], end: MemoryEnd, room: number) {
  const conn = new MemoryConn(pieces, end);
  const upstream = http1Upstream(
    () => Promise.resolve({ kind: "connected", conn }),
    new FakeClock(),
  );
  try {
    const answer = await within(upstream.send(askOf({ hostname: "192.0.2.1", port: 1 })), 2000);
    if (answer.kind === "failed") return { kind: "failed", answer, conn } as const;
    const { bytes, last } = await within(drain(answer.body, room), 2000);
    return { kind: "answered", answer, bytes, last, kept: !conn.closed } as const;
  } finally {
    upstream.close();
    assert.equal(conn.closed, true, "nothing stays open");
  }
}

Deno.test("however a valid answer is cut, the bytes are the same", async () => {
  await fc.assert(
    fc.asyncProperty(
      answers,
      splits,
      fc.integer({ min: 1, max: 64 }),
      async (given, sizes, room) => {
        const got = await outcome(cut(given.raw, sizes), given.framed ? "stay" : "fin", room);
        assert.ok(got.kind === "answered", JSON.stringify(got));
        assert.deepEqual(got.bytes, given.payload);
        assert.equal(got.last.kind, "end");
        assert.equal(got.kept, given.framed, "kept for the next request");
      },
    ),
    { numRuns: 300 },
  );
});

Deno.test("no proper prefix of a framed answer is ever an end", async () => {
  await fc.assert(
    fc.asyncProperty(answers, splits, fc.nat(), fc.boolean(), async (given, sizes, at, reset) => {
      fc.pre(given.framed);
      const prefix = given.raw.subarray(0, at % given.raw.length);
      const got = await outcome(cut(prefix, sizes), reset ? "reset" : "fin", 16);
      if (got.kind === "failed") {
        assert.equal(got.answer.code, "closed_before_head");
        assert.equal(got.answer.sent, "unknown");
        return;
      }
      assert.ok(got.last.kind === "broken", "a cut answer must not end well");
      assert.equal(got.last.code, reset ? "reset" : "truncated");
      assert.deepEqual(got.bytes, given.payload.subarray(0, got.bytes.length));
    }),
    { numRuns: 300 },
  );
});

const mutation = fc.record({
  at: fc.nat(),
  kind: fc.constantFrom("flip", "drop", "double", "insert"),
  byte: fc.oneof(fc.nat(255), fc.constantFrom(13, 10, 58, 32, 59, 0, 48)),
});

function mutate(
  raw: Uint8Array,
  changes: readonly (typeof mutation extends fc.Arbitrary<infer M> ? M : never)[],
) {
  const bytes = [...raw];
  for (const { at, kind, byte } of changes) {
    const where = at % Math.max(1, bytes.length);
    if (kind === "flip") bytes[where] = byte;
    else if (kind === "drop") bytes.splice(where, 1);
    else if (kind === "double") bytes.splice(where, 0, ...bytes.slice(where, where + 9));
    else bytes.splice(where, 0, byte);
  }
  return Uint8Array.from(bytes);
}

Deno.test("whatever a member says, it ends in one of the ways the port names", async () => {
  const changes = fc.array(mutation, { minLength: 1, maxLength: 4 });
  await fc.assert(
    fc.asyncProperty(
      answers,
      changes,
      splits,
      fc.boolean(),
      async (given, changed, sizes, reset) => {
        const raw = mutate(given.raw, changed);
        const got = await outcome(cut(raw, sizes), reset ? "reset" : "fin", 16);
        if (got.kind === "failed") {
          assert.ok(["closed_before_head", "malformed_head"].includes(got.answer.code));
          return;
        }
        if (got.last.kind === "broken") {
          assert.ok(["truncated", "reset", "malformed"].includes(got.last.code));
        } else assert.ok(got.last.kind === "end");
        assert.ok(got.bytes.length <= raw.length);
      },
    ),
    { numRuns: 1000 },
  );
});

Deno.test("noise is never an answer for long", async () => {
  const noise = fc.uint8Array({ maxLength: 300 });
  await fc.assert(
    fc.asyncProperty(noise, splits, async (raw, sizes) => {
      const got = await outcome(cut(raw, sizes), "fin", 16);
      assert.equal(got.kind, "failed");
    }),
    { numRuns: 200 },
  );
});
