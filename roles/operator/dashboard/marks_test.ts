import assert from "node:assert/strict";
import { done, fell } from "../../../lib/dispatch/outcome.ts";
import { joinMarks, marksBefore, marksOf, MOST_MARKS } from "./marks.ts";

const at = (hour: number) => new Date(Date.UTC(2026, 0, 1, hour)).toISOString();

Deno.test("marks: what a status tells of, each moment once, oldest first", () => {
  const status = {
    offered: { rev: "b", at: at(5) },
    proven: { rev: "a", at: at(1) },
    pending_boot: { since: at(6) },
    attempt: { began_at: at(7), phase: "probing" },
    last: { ending: "rolled-back", code: "probe_failed", ended_at: at(4) },
    failures: [{ code: "expired", last: at(3) }, { code: "expired", last: "no time" }],
  };
  const told = marksOf(done("a", status));
  const joined = joinMarks([], told);
  assert.deepEqual(joined.map(({ kind, what }) => [kind, what]), [
    ["proven", "a"],
    ["refused", "expired"],
    ["refused", "probe_failed"],
    ["offered", "b"],
    ["pending", "a boot is pending"],
    ["attempt", "probing"],
  ]);
  assert.equal(joinMarks(joined, told), joined, "the same again is nothing new");
});

Deno.test("marks: an ending that is fine is no refusal; what says nothing gives none", () => {
  const last = { ending: "known-good", code: "proven", ended_at: at(4) };
  assert.deepEqual(marksOf(done("a", { last })), []);
  assert.deepEqual(marksOf(done("a", ["odd"])), []);
  assert.deepEqual(marksOf(fell("a", "unreachable", "no_route", "")), []);
  assert.deepEqual(marksOf(undefined), []);
  assert.deepEqual(marksBefore(null), []);
});

Deno.test("marks: a host that tells something new at every look keeps the newest", () => {
  let held = joinMarks([], []);
  for (let hour = 0; hour < 1000; hour++) {
    held = joinMarks(held, marksOf(done("a", { offered: { rev: `${hour}`, at: at(hour) } })));
  }
  assert.equal(held.length, MOST_MARKS);
  assert.equal(held.at(-1)?.what, "999");
});
