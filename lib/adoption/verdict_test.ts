import assert from "node:assert/strict";
import fc from "fast-check";
import {
  cannotJudge,
  judge,
  type ProbeState,
  type Sample,
  type TimedSample,
  type VerdictRules,
} from "./verdict.ts";

const RULES: VerdictRules = { clean: 3, windowMs: 20_000, deadlineMs: 60_000, required: ["a"] };

/** A sample every ten seconds; each text is the probes a, b: `p`, `f` or `u`. */
const STATES: { readonly [letter: string]: ProbeState } = { p: "pass", f: "fail", u: "unknown" };
const sample = (text: string, at: number, counts: readonly (number | null)[] = []): Sample => ({
  at: new Date(at * 10_000).toISOString(),
  readings: [...text].map((letter, index) => ({
    probe: "ab"[index] ?? "c",
    state: STATES[letter] ?? "unknown",
    code: letter,
    detail: "",
    count: counts[index] ?? null,
  })),
});
const taken = (text: string, at: number, counts: readonly (number | null)[] = []): TimedSample => ({
  sample: sample(text, at, counts),
  takenMs: at * 10_000,
});
const verdict = (before: string, ...after: string[]) => {
  const found = judge(sample(before, -1), after.map((text, at) => taken(text, at)), RULES);
  return found.kind === "bad" ? found.code : found.kind;
};

Deno.test("verdict: so many clean samples in a row, over the window", () => {
  assert.equal(verdict("pp", "pp", "pp"), "more");
  assert.equal(verdict("pp", "pp", "pp", "pp"), "good");
  assert.equal(verdict("pp", "fp", "pp", "pp"), "more");
  assert.equal(verdict("pp", "fp", "pp", "pp", "pp"), "good");
});

Deno.test("verdict: a wall clock that is set meanwhile makes no window, and takes none away", () => {
  const set = (by: number) => (text: string, at: number): TimedSample => ({
    sample: sample(text, at === 0 ? at : at + by),
    takenMs: at * 1000,
  });
  const day = 8640;
  for (const by of [day, -day]) {
    const early = ["pp", "pp", "pp", "pp"].map(set(by));
    assert.equal(judge(sample("pp", -1), early, RULES).kind, "more", "three seconds are no window");
    const failing = ["fp", "fp"].map(set(by));
    assert.equal(judge(sample("pp", -1), failing, RULES).kind, "more", "nor the deadline");
  }
  const long = Array.from({ length: 21 }, () => "pp").map(set(-day));
  assert.equal(judge(sample("pp", -1), long, RULES).kind, "good");
});

Deno.test("verdict: what failed before cannot condemn, what passed before can", () => {
  assert.equal(verdict("fp", "fp", "fp", "fp"), "good");
  assert.equal(verdict("up", "fp", "fp", "fp"), "good");
  assert.equal(verdict("pp", ..."f".repeat(7).split("").map(() => "fp")), "probe_failed");
  const flapping = ["pp", "fp", "pp", "fp", "pp", "fp", "pp"];
  assert.equal(verdict("pp", ...flapping), "probe_flapping");
  assert.equal(verdict("pp", ..."u".repeat(7).split("").map(() => "up")), "probe_silent");
});

Deno.test("verdict: a slow crash loop is found out by its count", () => {
  const looped = [0, 0, 1, 1, 1, 2, 2].map((count, at) => taken("pp", at, [count]));
  const found = judge(sample("pp", -1, [5]), looped, RULES);
  assert.ok(found.kind === "bad" && found.code === "restarts_counted", JSON.stringify(found));
  // A count that stays is no loop, whatever it was before.
  const steady = [3, 3, 3].map((count, at) => taken("pp", at, [count]));
  assert.equal(judge(sample("pp", -1, [0]), steady, RULES).kind, "good");
});

Deno.test("verdict: a required probe that could not tell before blocks", () => {
  assert.deepEqual(cannotJudge(sample("up", 0), ["a"]).map(({ probe }) => probe), ["a"]);
  assert.deepEqual(cannotJudge(sample("fp", 0), ["a"]), []);
  assert.deepEqual(cannotJudge(sample("up", 0), ["b"]), []);
  assert.deepEqual(cannotJudge(sample("", 0), ["a"]).map(({ code }) => code), ["not_read"]);
});

Deno.test("verdict: never good without the last samples clean, never bad before the deadline", () => {
  const texts = fc.array(fc.stringMatching(/^[pfu]{2}$/), { minLength: 1, maxLength: 10 });
  fc.assert(fc.property(fc.stringMatching(/^[pfu]{2}$/), texts, (before, after) => {
    const found = judge(sample(before, -1), after.map((text, at) => taken(text, at)), RULES);
    const judged = (text: string) => [...text].filter((_, at) => before[at] === "p");
    if (found.kind === "good") {
      const last = after.slice(-RULES.clean);
      assert.ok(last.length === RULES.clean);
      assert.ok(last.every((text) => judged(text).every((letter) => letter === "p")));
    }
    if (found.kind === "bad") assert.ok((after.length - 1) * 10_000 >= RULES.deadlineMs);
  }));
});
