import assert from "node:assert/strict";
import { afterName, cpuBetween } from "./process_facts.ts";
import { Problems } from "./job.ts";
import { sameFields } from "./json_fields.ts";
import { compare } from "./upload_answer.ts";

Deno.test("a process name with spaces and brackets does not shift the fields", () => {
  assert.deepEqual(afterName("12 (a) b (c) S 1 2").slice(0, 2), ["S", "1"]);
});

Deno.test("CPU time is the precise account, or the tick account when threads ended", () => {
  const from = { threads: 1000, ticks: 0 };
  assert.equal(cpuBetween(from, { threads: 21_500, ticks: 30_000 }), 20_500);
  assert.equal(cpuBetween(from, { threads: 500, ticks: 90_000 }), 90_000);
});

Deno.test("problems are bounded and none is lost count of", () => {
  const problems = new Problems();
  for (let i = 0; i < 10; i++) problems.add(`problem ${i}`);
  assert.equal(problems.count, 10);
  assert.deepEqual(problems.list().slice(4), ["problem 4", "and 5 more of these"]);
});

Deno.test("added fields are no difference, changed ones are", () => {
  assert.equal(sameFields('{"b":[1],"a":1,"provider":"x"}', '{"a":1,"b":[1]}'), true);
  assert.equal(sameFields('{"a":2}', '{"a":1}'), false);
  assert.equal(sameFields("<html>", '{"a":1}'), false);
});

Deno.test("an upload counts only when the upstream got the same bytes", () => {
  const answer = JSON.stringify({ length: 100, sum: 5 });
  assert.equal(compare(answer, 100, 5, true), null);
  assert.match(compare(answer, 100, 6, true) ?? "", /changed/);
  assert.equal(compare(answer, 90, 6, false), null);
  assert.match(compare(answer, 5000, 5, false) ?? "", /another length/);
  assert.match(compare("", 100, 5, true) ?? "", /not the upstream's/);
});
