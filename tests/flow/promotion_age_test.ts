import assert from "node:assert/strict";
import { FakeClock } from "../../lib/testing/fake_clock.ts";
import { FakeDisk } from "../../lib/testing/fake_disk.ts";
import { promotionOperations } from "../../roles/agent/operations/promotion.ts";
import { namedIn } from "../support/change_evidence.ts";
import { ChangeWorld, ROUTER_NEXT } from "../support/change_world.ts";

const DAY = 86_400_000;
const ENDED = "2026-01-31T08:02:00.000Z";

/** What `promotion.plan` says when it is asked `ms` after the benchmark ended. */
async function plannedAfter(ms: number): Promise<Record<string, unknown>> {
  const world = new ChangeWorld(new FakeDisk());
  const { conductor, store, survey } = world.life();
  const fake = new FakeClock();
  const clock = {
    now: () => Date.parse(ENDED) + ms,
    monotonic: () => fake.monotonic(),
    sleep: (until: number, signal?: AbortSignal) => fake.sleep(until, signal),
  };
  const [plan] = promotionOperations({
    ...{ conductor, store, clock, measuring: () => null },
    survey: () => Promise.resolve(survey),
  });
  const evidence = await namedIn("gpu-a", world.serve("chat-next"), (body) => {
    body.run.ended_at = ENDED;
  });
  const prepared = plan?.prepare({ alias: "llm.primary", config: ROUTER_NEXT, evidence });
  assert.ok(prepared?.kind === "ok" && prepared.model.kind === "read", JSON.stringify(prepared));
  const { signal } = new AbortController();
  const ran = await prepared.model.run({ signal, principal: "p", run: null, step: () => {} });
  assert.ok(ran.kind === "ok", JSON.stringify(ran));
  return ran.value as Record<string, unknown>;
}

Deno.test("a promotion's plan says how old its evidence is, refuses none for that, and stays the same plan", async () => {
  const told = await Promise.all([0, DAY - 1, DAY, 400 * DAY, -1].map(plannedAfter));
  assert.deepEqual(told.map((one) => one["evidence_age_days"]), [0, 0, 1, 400, -1]);
  assert.equal(new Set(told.map((one) => one["digest"])).size, 1);
});
