import assert from "node:assert/strict";
import { refuse } from "../../../lib/core/refusal.ts";
import type { Observed } from "../../../lib/serves/machines/ports.ts";
import type { RouterClient } from "../../../lib/serves/machines/router_client.ts";
import { FakeClock } from "../../../lib/testing/fake_clock.ts";
import { Stillness } from "../stillness.ts";
import { routerOperations } from "./router.ts";

/** What a transition of `tier`, which admits or not, does to a benchmark of the tier `primary`. */
async function transition(
  tier: string,
  action: string,
  intent: "admit" | "quiesce",
): Promise<readonly [ended: boolean, asked: number]> {
  const stillness = new Stillness(new FakeClock());
  const claim = stillness.measure({ kind: "member", serve: "chat", tier: "primary" });
  assert.ok(claim.kind === "measured");
  claim.signal.addEventListener("abort", () => claim[Symbol.dispose]());
  let asked = 0;
  const no = { ...refuse("router_unreachable" as const, "not asked"), changed: false };
  const client: RouterClient = {
    status: () => Promise.resolve(no),
    statusJson: () => Promise.resolve(no),
    transition: (ask) => {
      if (ask.dryRun !== true) asked++;
      const observed: Observed = {
        ...{ kind: "observed", tier: ask.tier, intent, readiness: "ready" },
        ...{ inFlight: 0, drained: false, persisted: true },
      };
      return Promise.resolve(observed);
    },
  };
  const [, operation] = routerOperations({ client, change: () => null, stillness });
  const prepared = operation?.prepare({ tier, action });
  assert.ok(prepared?.kind === "ok" && prepared.model.kind === "mutate");
  const { signal } = new AbortController();
  const context = { signal, principal: "p", run: null, step: () => {} };
  const planned = await prepared.model.plan(context);
  assert.ok(planned.kind === "ok" && !claim.signal.aborted, "a plan ends nothing");
  assert.equal((await planned.value.run(context)).kind, "ok");
  assert.equal(stillness.refusal(), null, "and leaves nothing claimed");
  return [claim.signal.aborted, asked];
}

Deno.test("router.transition: of the tier that is measured it ends that, unless it changes nothing", async () => {
  assert.deepEqual(await transition("primary", "quiesce", "admit"), [true, 1]);
  assert.deepEqual(await transition("primary", "drain", "admit"), [true, 1]);
  assert.deepEqual(await transition("primary", "readmit", "quiesce"), [true, 1]);
  assert.deepEqual(await transition("primary", "readmit", "admit"), [false, 1]);
  assert.deepEqual(await transition("primary", "quiesce", "quiesce"), [false, 1]);
  assert.deepEqual(await transition("primary", "drain", "quiesce"), [false, 1]);
  assert.deepEqual(await transition("other", "quiesce", "admit"), [false, 1]);
});
