import assert from "node:assert/strict";
import fc from "fast-check";
import { RequestReader } from "./request_reader.ts";
import { ResponseReader } from "./response_reader.ts";
import { Schedule, Stream } from "./schedule.ts";
import { StreamReader } from "./stream_client.ts";
import * as wire from "./wire.ts";

const encoder = new TextEncoder();

/** Cuts `bytes` at the given places and feeds the pieces in one reused buffer, as the poller does. */
function feed(
  reader: { feed(bytes: Uint8Array, length: number): void },
  bytes: Uint8Array,
  cuts: number[],
): void {
  const buffer = new Uint8Array(bytes.length + 16);
  const places = [...cuts.map((cut) => cut % bytes.length), bytes.length].sort((a, b) => a - b);
  let from = 0;
  for (const to of places) {
    if (to === from) continue;
    buffer.fill(0xff);
    buffer.set(bytes.subarray(from, to));
    reader.feed(buffer, to - from);
    from = to;
  }
}

/** A stream of `events` as the upstream writes it; `at` is the clock in us. */
function streamBytes(id: number, events: number): Uint8Array {
  const parts: Uint8Array[] = [];
  let now = 1_000_000;
  const schedule = new Schedule(() => now);
  schedule.add(new Stream({ send: (bytes) => parts.push(bytes.slice()) }, id, 10, 0));
  for (let i = 0; i < events; i++) {
    schedule.run();
    now += 10;
  }
  assert.deepEqual(schedule.finish(), [[id, events]]);
  schedule.run();
  return new Uint8Array(parts.flatMap((part) => [...part]));
}

function watchStream(id: number) {
  const seen: { events: number[]; done: number | null; problems: string[] } = {
    events: [],
    done: null,
    problems: [],
  };
  const reader = new StreamReader({ id, periodMicros: 10, slowMicros: 0 }, {
    event: (sequence) => seen.events.push(sequence),
    done: (events) => seen.done = events,
    problem: (what) => seen.problems.push(what),
  });
  return { seen, reader };
}

const cuts = fc.array(fc.nat(), { maxLength: 12 });

Deno.test("a stream is read whole wherever the pieces are cut", () => {
  const bytes = streamBytes(0, 3);
  fc.assert(fc.property(cuts, (places) => {
    const { seen, reader } = watchStream(0);
    feed(reader, bytes, places);
    assert.deepEqual(seen, { events: [0, 1, 2], done: 3, problems: [] });
  }));
});

/** The stream with its text changed, re-framed as one chunk. */
function changed(change: (text: string) => string): Uint8Array {
  const text = new TextDecoder().decode(streamBytes(0, 3));
  const [head = "", ...frames] = text.split("\r\n\r\n");
  const body = frames.join("\r\n\r\n").split("\r\n").filter((_, i) => i % 2 === 1).join("");
  return encoder.encode(
    `${head}\r\n\r\n` + new TextDecoder().decode(wire.chunk(change(body))) + "0\r\n\r\n",
  );
}

const faults: Record<string, [(text: string) => string, RegExp]> = {
  "an event left out": [(t) => t.replace(/data: [^\n]*00000001 [^\n]*\n\n/, ""), /out of order/],
  "an event twice": [(t) => t.replace(/(data: [^\n]*\n\n)/, "$1$1"), /out of order/],
  "another stream's": [(t) => t.replace("bench 0000 ", "bench 0007 "), /another stream/],
  "one byte changed": [(t) => t.replace("bench-model", "bench-mOdel"), /did not send/],
  "no terminator": [(t) => t.replace(wire.DONE, ""), /without its terminator/],
  "half an event": [(t) => t + "data: {", /half an event/],
};

for (const [name, [change, problem]] of Object.entries(faults)) {
  Deno.test(`a stream with a fault is a problem: ${name}`, () => {
    const { seen, reader } = watchStream(0);
    feed(reader, changed(change), []);
    assert.match(seen.problems.join(), problem);
  });
}

Deno.test("a stream unchanged but framed anew is none", () => {
  const { seen, reader } = watchStream(0);
  feed(reader, changed((text) => `: a heartbeat\n\n${text}`), []);
  assert.deepEqual(seen, { events: [0, 1, 2], done: 3, problems: [] });
});

Deno.test("requests are read wherever they are cut, one after the other", () => {
  const one = wire.jsonRequest({ authorization: "Bearer x" });
  wire.patch(one.bytes, one.at, 8, 123);
  const bytes = new Uint8Array([...one.bytes, ...one.bytes]);
  fc.assert(fc.property(cuts, (places) => {
    const instructions: string[] = [];
    const reader = new RequestReader({
      begin: () => {},
      piece: () => {},
      end: (_line, instruction) => instructions.push(instruction),
      refuse: () => assert.fail("refused"),
    });
    feed(reader, bytes, places);
    assert.deepEqual(instructions, ["json:00000123", "json:00000123"]);
  }));
});

Deno.test("the answer to a JSON request is 1 KiB and carries the request's number", () => {
  const { bytes, at } = wire.jsonAnswerBody();
  wire.patch(bytes, at, 8, 77);
  assert.equal(bytes.length, 1024);
  assert.equal(JSON.parse(new TextDecoder().decode(bytes)).id, "chatcmpl-00000077");
});

Deno.test("an answer without a stated length is not understood", () => {
  const reader = new ResponseReader({ head: () => {}, body: () => {}, end: () => {} });
  const bytes = encoder.encode("HTTP/1.1 200 OK\r\nconnection: close\r\n\r\nbody");
  reader.feed(bytes, bytes.length);
  assert.equal(reader.broken, true);
});

Deno.test("digits are written and read back; anything else is NaN", () => {
  const bytes = new Uint8Array(20);
  wire.patch(bytes, 2, 16, 9_007_199_254_740_991);
  assert.equal(wire.read(bytes, 2, 16), 9_007_199_254_740_991);
  bytes[5] = 65;
  assert.ok(Number.isNaN(wire.read(bytes, 2, 16)));
});
