import assert from "node:assert/strict";
import { looked, MINUTE, type Story } from "../../../tests/fixtures/dashboard_fleet.ts";
import { hostTold } from "../capability_told.ts";
import { needsAttention, whyOf } from "./attention.ts";
import { changesBetween } from "./changes.ts";
import { type NodeView, observed, standingOf, unasked } from "./node_view.ts";

const NOW = Date.UTC(2026, 0, 1);
const FRESH_MS = 12_000;
const UP: Story = { host: "a", router: { inFlight: 2, p95: 100 } };
const DOWN: Story = {
  host: "a",
  fails: { kind: "unreachable", code: "no_route", detail: "no way there" },
};

const DECLARED = { runtime: "docker", roles: ["serving"] } as const;

/** The picture after looks that each find a story, one second apart. */
function after(stories: readonly Story[], slow = true, from = unasked("a", null)): NodeView {
  return stories.reduce((view, story, at) => {
    const look = looked(story, slow);
    const told = hostTold("a", { ...DECLARED, roles: [...DECLARED.roles] }, look);
    return observed(view, look, told, NOW + at * 1000, "5".repeat(64));
  }, from);
}

Deno.test("standing: not asked, answers, old, trouble: four answers, and only one is good", () => {
  const standing = (view: NodeView, at: number) => standingOf(view, at, FRESH_MS);
  assert.equal(standing(unasked("a", null), NOW), "unknown");
  assert.equal(standing(after([UP]), NOW), "fresh");
  assert.equal(standing(after([UP]), NOW + FRESH_MS + 1), "old");
  assert.equal(standing(after([UP, DOWN]), NOW + 1000), "trouble");
  assert.equal(standing(after([DOWN]), NOW + MINUTE * 60), "trouble", "trouble does not age away");
});

Deno.test("a host that is silent keeps what it was, and nothing of it as now", () => {
  const up = after([UP]);
  const down = after([UP, DOWN]);
  assert.equal(down.sighting?.at, up.sighting?.at);
  assert.deepEqual([down.running, down.skewMs, down.topology], [null, null, "unknown"]);
  assert.equal(down.adoption.kind, "unknown");
  assert.equal(down.adoptionBefore?.freshness, "fresh");
  assert.equal(down.router.kind, "unknown");
  assert.equal(down.told?.serves.kind, "unreachable");
  assert.equal(down.marks.length, 2, "what happened did happen");
});

Deno.test("a fast look asks less, and what it did not ask stands as of when it was told", () => {
  const slow = after([UP]);
  const fast = after([UP], false, slow);
  assert.equal(fast.adoptionAt, slow.adoptionAt);
  assert.equal(fast.topology, "same");
  assert.equal(fast.told?.serves.kind, "told");
  const back = after([UP], false, after([UP, DOWN]));
  assert.equal(back.told?.serves.kind, "unknown", "what was known before the silence is not now");
  assert.equal(back.adoption.kind, "unknown");
});

Deno.test("attention: whatever is not known to be well", () => {
  const view = (story: Partial<Story>) => after([{ ...UP, ...story }]);
  assert.equal(whyOf(view({})), "");
  assert.ok(!needsAttention(view({}), "fresh"));
  assert.ok(needsAttention(view({}), "old"));
  assert.ok(needsAttention(unasked("a", null), "unknown"));
  for (
    const [story, said] of [
      [DOWN, "no_route: no way there"],
      [{ router: { inFlight: 0, p95: null, ready: false } }, "tier primary not ready"],
      [{ router: { inFlight: 0, p95: null, intent: "quiesce" } }, "tier primary quiesced"],
      [{ topology: "6".repeat(64) }, "it was set up from another topology"],
      [{ adoption: { freshness: "stale", why: "x" } }, "software is stale: x"],
    ] as const
  ) {
    assert.equal(whyOf(view(story)), said);
    assert.ok(needsAttention(view(story), "fresh"), said);
  }
});

Deno.test("changes: the first picture is none, the same is none, and each difference is a sentence", () => {
  const between = (before: Partial<Story>, now: Partial<Story>) => {
    const old = after([{ ...UP, ...before }]);
    return changesBetween(old, after([{ ...UP, ...now }], true, old)).map(({ text }) => text);
  };
  assert.deepEqual(changesBetween(unasked("a", null), after([UP])), []);
  assert.deepEqual(between({}, {}), []);
  assert.deepEqual(between({}, DOWN), ["unreachable: no_route: no way there"]);
  const back = after([UP, DOWN]);
  assert.deepEqual(changesBetween(back, after([UP], true, back)).map(({ text }) => text), [
    "answers again",
  ]);
  assert.deepEqual(between({}, { version: "0.3.0" }), ["runs 0.3.0, was 0.2.0"]);
  assert.deepEqual(between({}, { adoption: { freshness: "aging" } }), [
    "adoption is aging, was fresh",
  ]);
  assert.deepEqual(between({}, { adoption: null }), ["has no adopter any more"]);
  assert.deepEqual(between({}, { router: { inFlight: 0, p95: 1, ready: false } }), [
    "tier primary is not ready",
  ]);
  assert.deepEqual(between({}, { router: { inFlight: 9, p95: 900 } }), [], "numbers are no events");
  assert.deepEqual(between({}, { router: null }), ["has no router any more"]);
});
