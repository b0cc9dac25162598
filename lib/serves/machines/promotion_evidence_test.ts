import assert from "node:assert/strict";
import { measured } from "../../../tests/support/change_evidence.ts";
import { ChangeWorld, ROUTER_NEXT } from "../../../tests/support/change_world.ts";
import { type Refusal, refuse } from "../../core/refusal.ts";
import type { Evidence } from "../../evidence/evidence_shape.ts";
import { FakeDisk } from "../../testing/fake_disk.ts";
import { type ChangeEnd, planDigest } from "./conductor.ts";
import { planPromotion } from "./promotion.ts";
import type { NamedEvidence } from "./promotion_evidence.ts";
import { takeSurvey } from "./survey.ts";
import type { Plan } from "./transaction.ts";

const signal = new AbortController().signal;

function world(): ChangeWorld {
  const disk = new FakeDisk();
  disk.contents.set("/disk/state", { kind: "directory" });
  return new ChangeWorld(disk);
}

async function promote(one: ChangeWorld, evidence: NamedEvidence): Promise<Plan | Refusal> {
  const { survey } = one.life();
  const seen = await takeSurvey(survey, signal);
  if (seen.kind === "refused") return seen;
  const wish = { alias: "llm.primary", config: ROUTER_NEXT, evidence, drainSeconds: 5 };
  return await planPromotion(seen, wish, survey, signal);
}

/** Asks for it, and waits for its end. */
function begin(
  one: ChangeWorld,
  evidence: NamedEvidence,
  expected: string | null = null,
): Promise<ChangeEnd> {
  const plan = () => promote(one, evidence);
  const ask = { plan, expected, serves: one.serves, config: ROUTER_NEXT, run: null };
  return one.life().conductor.begin(ask, () => {}, signal);
}

function code(end: Plan | Refusal | ChangeEnd): string {
  if (end.kind === "refused") return end.code;
  return end.kind === "ended" ? end.record.state.at : end.kind;
}

Deno.test("promotion: evidence of something else, or of a host that could not promise, is refused", async () => {
  const cases: readonly (readonly [string, (body: Evidence) => void])[] = [
    ["evidence_other_host", ({ host }) => host.node = "gpu-b"],
    ["evidence_ineligible", (body) => {
      body.host.availability = "opportunistic";
    }],
    ["evidence_ineligible", ({ host }) => host.reserved = "voice"],
    ["evidence_other_model", ({ subject }) => subject.model = "org/model"],
    ["evidence_other_model", ({ subject }) => subject.revision = null],
    ["evidence_other_model", ({ subject }) => subject.quantization = "4bit"],
    ["evidence_other_model", ({ subject }) => subject.engine = "mlx-lm"],
    ["evidence_other_model", ({ host }) => host.runtime = "docker"],
    ["evidence_incomplete", ({ run }) => run.complete = false],
    ["evidence_empty", ({ measures }) => {
      measures.requests = { sent: 4, completed: 0, failed: 4, cancelled: 0 };
      measures.errors = [{ code: "timed_out", count: 4 }];
    }],
  ];
  for (const [expected, change] of cases) {
    const one = world();
    const before = one.now;
    const named = await measured("gpu-a", one.serve("chat-next"), change);
    assert.equal(code(await promote(one, named)), expected);
    assert.equal(code(await begin(one, named)), expected);
    assert.deepEqual(one.now, before);
  }
  const unread = refuse("evidence_tampered", "it is not what it is called");
  assert.equal(code(await promote(world(), unread)), "evidence_tampered");
});

Deno.test("promotion: the plan names its evidence, and is another plan by other evidence", async () => {
  const one = world();
  const [first, second] = [
    await measured("gpu-a", one.serve("chat-next")),
    await measured("gpu-a", one.serve("chat-next"), ({ run }) => run.id = "bench-000002"),
  ];
  const plan = await promote(one, first);
  assert.ok(plan.kind === "promote");
  assert.equal(plan.evidence, first.id);
  assert.match(plan.notes.join("\n"), new RegExp(`by ${first.id}: measured 2026-01-31`));
  assert.equal(code(await begin(one, second, planDigest(plan))), "plan_stale");
  assert.equal(code(await begin(one, first, planDigest(plan))), "reached");
});
