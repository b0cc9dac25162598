import assert from "node:assert/strict";
import { FakeClock } from "../../lib/testing/fake_clock.ts";
import { tierShape } from "./config_shape.ts";
import { type Leased, Tier } from "./tier.ts";

function rig(inFlight = 1, queue = 2, seconds = 10) {
  const clock = new FakeClock();
  const config = tierShape.parse({
    id: "t",
    served_model: "org/model",
    dialects: ["openai-chat"],
    identity: { kind: "openai-models" },
    admission: { in_flight: inFlight, queue, queue_seconds: seconds },
    members: [
      { id: "a", endpoint: "http://127.0.0.1:1" },
      { id: "b", endpoint: "http://127.0.0.1:2" },
    ],
  });
  const tier = new Tier(config, clock);
  const probed = (member: string, kind: "match" | "refused") =>
    tier.observe(member, {
      kind: "probed",
      epoch: tier.readinessOf(member).epoch,
      finding: kind === "match" ? { kind } : { kind, detail: "nothing listens there" },
      inFlight: 0,
      at: clock.monotonic(),
    });
  return { clock, tier, probed };
}

function said(leased: Leased): string {
  switch (leased.kind) {
    case "granted":
      return `${leased.member.id} after ${leased.waitedMs}`;
    case "refused":
      return `${leased.code} ${leased.retryAfterSeconds}`;
    case "gone":
      return "gone";
  }
}

Deno.test("tier: nothing before a member proved itself; then leases in turn", async () => {
  const { tier, probed } = rig(4);
  assert.equal(tier.admits, false);
  assert.equal(said(await tier.lease("1")), "tier_not_ready 5");
  probed("b", "match");
  assert.equal(said(await tier.lease("1")), "b after 0");
  probed("a", "match");
  assert.equal(tier.admits, true);
  assert.equal(said(await tier.lease("2")), "b after 0");
  assert.equal(said(await tier.lease("3")), "a after 0");
  assert.deepEqual([tier.inFlightOn("a"), tier.inFlightOn("b"), tier.inFlight], [1, 2, 3]);
  for (const id of ["1", "2", "3", "3", "never"]) tier.end(id);
  assert.equal(tier.inFlight, 0);
});

Deno.test("tier: a waiter is granted, refused at its deadline, or gone", async () => {
  const { tier, clock, probed } = rig(1, 3, 10);
  probed("a", "match");
  await tier.lease("1");
  const waiting = ["2", "3", "4"].map((id) => tier.lease(id));
  assert.equal(said(await tier.lease("5")), "queue_full 5");
  assert.equal(tier.report().waiting, 3);
  await clock.advance(4000);
  tier.end("3");
  tier.end("1");
  assert.equal(said(await (waiting[0] as Promise<Leased>)), "a after 4000");
  assert.equal(said(await (waiting[1] as Promise<Leased>)), "gone");
  await clock.advance(5999);
  assert.equal(tier.report().waiting, 1);
  await clock.advance(1);
  assert.equal(said(await (waiting[2] as Promise<Leased>)), "queue_timeout 5");
  assert.equal(clock.sleeping, 0, "no timer is left behind");
  tier.end("2");
  assert.equal(tier.inFlight, 0);
});

Deno.test("tier: quiesced, or its members lost, its queue is told", async () => {
  const { tier, clock, probed } = rig();
  probed("a", "match");
  await tier.lease("1");
  const first = tier.lease("2");
  tier.setIntent("quiesce");
  assert.equal(said(await first), "tier_quiesced 5");
  assert.equal(said(await tier.lease("3")), "tier_quiesced 5");
  tier.setIntent("admit");
  const second = tier.lease("4");
  probed("a", "refused");
  assert.equal(said(await second), "tier_not_ready 5");
  assert.equal(tier.inFlight, 1);
  assert.equal(clock.sleeping, 0);
});

Deno.test("tier: reports what was observed", async () => {
  const { tier, clock, probed } = rig();
  probed("a", "match");
  await tier.lease("1");
  await clock.advance(250);
  const report = tier.report();
  assert.deepEqual(report, {
    tier: "t",
    intent: "admit",
    readiness: "ready",
    in_flight: 1,
    waiting: 0,
    members: [
      {
        id: "a",
        state: "ready",
        expected: "org/model",
        observed: "the pinned model",
        in_flight: 1,
        age_ms: 250,
      },
      {
        id: "b",
        state: "unknown",
        expected: "org/model",
        observed: "not probed yet",
        in_flight: 0,
        age_ms: null,
      },
    ],
  });
});
