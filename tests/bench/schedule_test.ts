import assert from "node:assert/strict";
import { Schedule, Stream } from "./schedule.ts";

const sink = { send: () => {} };

Deno.test("lateness is that of the latest event since it was last asked for", () => {
  let now = 0;
  const schedule = new Schedule(() => now);
  schedule.add(new Stream(sink, 0, 100, 0));
  schedule.run();
  now = 150; // due at 100
  schedule.run();
  now = 210; // due at 200
  schedule.run();
  assert.equal(schedule.takeLateness(), 50);
  now = 300;
  schedule.run();
  assert.equal(schedule.takeLateness(), 0);
});

Deno.test("a stream that thinks is quick for three events and slow from then on", () => {
  let now = 0;
  const schedule = new Schedule(() => now);
  const stream = new Stream(sink, 0, 10, 1000);
  schedule.add(stream);
  for (; now <= 1020; now += 10) schedule.run();
  assert.equal(stream.sequence, 4);
});

Deno.test("the wait is in whole milliseconds, none when an event is due, long without streams", () => {
  let now = 0;
  const schedule = new Schedule(() => now);
  assert.equal(schedule.waitMs(), 1000);
  schedule.add(new Stream(sink, 0, 2500, 0));
  assert.equal(schedule.waitMs(), 0);
  schedule.run();
  assert.equal(schedule.waitMs(), 3);
  now = 2500;
  assert.equal(schedule.waitMs(), 0);
});

Deno.test("streams that begin together do not send together", () => {
  const now = 1000;
  const schedule = new Schedule(() => now);
  const streams = [0, 1, 2, 3].map((id) => new Stream(sink, id, 20_000, 0));
  for (const stream of streams) schedule.add(stream);
  assert.equal(new Set(streams.map(({ due }) => due)).size, 4);
});

Deno.test("a removed stream sends no more and is not waited for", () => {
  const schedule = new Schedule(() => 0);
  const stream = new Stream(sink, 0, 10, 0);
  schedule.add(stream);
  schedule.remove(stream);
  schedule.run();
  assert.equal(stream.sequence, 0);
  assert.deepEqual(schedule.finish(), []);
});
