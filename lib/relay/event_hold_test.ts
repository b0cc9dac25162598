import assert from "node:assert/strict";
import fc from "fast-check";
import { EventHold, HELD_MOST } from "./event_hold.ts";
import { StreamWatch } from "./stream_watch.ts";

const encoder = new TextEncoder();
const decoder = new TextDecoder();

/** Passes chunks through, and writes over each of them as a connection does with its space. */
function passed(chunks: readonly Uint8Array[]) {
  const watch = new StreamWatch("openai-chat");
  const hold = new EventHold();
  let seen = "";
  const steps: string[] = [];
  for (const chunk of chunks) {
    const bytes = chunk.slice();
    watch.push(bytes);
    const out = hold.pass(bytes, watch.open);
    const text = decoder.decode(out);
    bytes.fill(0x58);
    seen += text;
    steps.push(text);
  }
  return { seen, steps, hold, watch };
}

const texts = (...of: string[]) => of.map((text) => encoder.encode(text));

Deno.test("hold: an event passes with its last byte, and what is whole passes at once", () => {
  assert.deepEqual(passed(texts("data: 1\n\n", "data: 2\n\ndat", "a: 3\n", "\n: c\nda")).steps, [
    "data: 1\n\n",
    "data: 2\n\n",
    "",
    "data: 3\n\n: c\n",
  ]);
  assert.deepEqual(passed(texts("event: a\r\n", "data: 1\r\n\r", "\n")).steps, [
    "",
    "",
    "event: a\r\ndata: 1\r\n\r\n",
  ]);
});

Deno.test("hold: however it is cut, whole events pass unchanged, and never a part of one", () => {
  const event = fc.constantFrom(
    "data: a\n\n",
    "event: x\ndata: ü\n\n",
    ": c\n\n",
    "data: b\r\n\r\n",
  );
  fc.assert(fc.property(
    fc.array(event, { maxLength: 8 }),
    fc.array(fc.integer({ min: 1, max: 9 }), { minLength: 1, maxLength: 60 }),
    (events, sizes) => {
      const bytes = encoder.encode(events.join(""));
      const chunks: Uint8Array[] = [];
      for (let at = 0, turn = 0; at < bytes.length; turn++) {
        const size = sizes[turn % sizes.length] ?? 1;
        chunks.push(bytes.subarray(at, at + size));
        at += size;
      }
      const { seen, steps, hold, watch } = passed(chunks);
      assert.equal(seen, events.join(""));
      assert.equal(hold.holds, false);
      assert.equal(watch.open, 0);
      let sofar = "";
      for (const step of steps) {
        sofar += step;
        assert.ok(sofar === "" || sofar.endsWith("\n"), JSON.stringify(sofar));
      }
    },
  ));
});

Deno.test("hold: of what never ends nothing passes", () => {
  const { seen, hold } = passed(texts("data: 1\n\ndata: {", '"half'));
  assert.equal(seen, "data: 1\n\n");
  assert.equal(hold.holds, true);
});

Deno.test("hold: an event over the bound passes in parts, and the next one is held again", () => {
  const long = `data: ${"x".repeat(HELD_MOST)}`;
  for (
    const chunks of [
      texts(long, "yz\n\n", "data: 2", "\n\n"),
      texts("data: 1\n\n" + long, "yz\n\n", "data: 2", "\n\n"),
      [...Array.from({ length: 70 }, () => encoder.encode("y".repeat(1000)))],
    ]
  ) {
    const whole = chunks.map((chunk) => decoder.decode(chunk)).join("");
    const { seen, hold } = passed(chunks);
    assert.equal(seen, whole);
    assert.equal(hold.holds, false);
  }
  assert.deepEqual(passed(texts(long, "yz\n\n", "data: 2", "\n\n")).steps.slice(1), [
    "yz\n\n",
    "",
    "data: 2\n\n",
  ]);
});
