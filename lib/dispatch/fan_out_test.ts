import assert from "node:assert/strict";
import fc from "fast-check";
import { answerBytesFor, fanOut } from "./fan_out.ts";

Deno.test("fan-out: never more at once than allowed, every item once, results in order", async () => {
  await fc.assert(fc.asyncProperty(
    fc.array(fc.nat(5), { maxLength: 40 }),
    fc.integer({ min: 1, max: 7 }),
    async (turns, atOnce) => {
      let now = 0;
      let most = 0;
      const given = await fanOut(turns.map((turn, at) => ({ turn, at })), async ({ turn, at }) => {
        most = Math.max(most, ++now);
        for (let i = 0; i < turn; i++) await Promise.resolve();
        now--;
        return at;
      }, { atOnce, signal: new AbortController().signal, onGave: () => {} });
      assert.deepEqual(given, turns.map((_, at) => at));
      assert.ok(most <= atOnce);
    },
  ));
});

Deno.test("fan-out: after the signal nothing new is begun, what is begun is told", async () => {
  const stop = new AbortController();
  const begun: number[] = [];
  const told: number[] = [];
  const given = await fanOut([0, 1, 2, 3, 4, 5], async (item) => {
    begun.push(item);
    await Promise.resolve();
    if (item === 2) stop.abort();
    return item === 1 ? null : item;
  }, { atOnce: 3, signal: stop.signal, onGave: (one) => told.push(one) });
  assert.deepEqual(begun, [0, 1, 2, 3, 4].slice(0, begun.length));
  assert.ok(begun.length < 6);
  assert.equal(given[1], null);
  assert.equal(given[5], null);
  assert.deepEqual(told, given.filter((one) => one !== null));
});

Deno.test("fan-out: what all hosts may send together is bounded", () => {
  assert.equal(answerBytesFor(1), 16 * 1024 * 1024);
  assert.equal(answerBytesFor(1000), Math.floor(24 * 1024 * 1024 / 1000));
  assert.equal(answerBytesFor(100_000), 24 * 1024);
});
