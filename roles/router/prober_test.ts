import assert from "node:assert/strict";
import type { Read, Upstream, UpstreamAnswer, UpstreamAsk } from "../../lib/relay/upstream.ts";
import { Secret } from "../../lib/core/secret.ts";
import { FakeClock } from "../../lib/testing/fake_clock.ts";
import { tierShape } from "./config_shape.ts";
import { Prober } from "./prober.ts";
import { Tier } from "./tier.ts";

const encoder = new TextEncoder();
const TIMES = { interval_ms: 2000, timeout_ms: 1000 };

type Reply = (ask: UpstreamAsk) => UpstreamAnswer | Promise<UpstreamAnswer>;

function answered(text: string, { status = 200, end = "end" as "end" | "broken" } = {}): Reply {
  return () => {
    const reads: Read[] = [
      { kind: "bytes", bytes: encoder.encode(text) },
      end === "end" ? { kind: "end" } : { kind: "broken", code: "truncated", cause: "FIN" },
    ];
    return {
      kind: "answered",
      status,
      headers: [],
      reused: false,
      body: {
        framing: "chunked",
        ended: false,
        holds: false,
        read: () => Promise.resolve(reads.shift() as Read),
        cancel: () => {
          reads.splice(0, reads.length, { kind: "broken", code: "aborted", cause: "cancel" });
        },
      },
    };
  };
}

function failed(code: "connect_refused" | "connect_timeout" | "closed_before_head"): Reply {
  return () => ({ kind: "failed", code, sent: "no", cause: "at 192.0.2.1" });
}

/** Answers nothing until its signal aborts. */
const silent: Reply = ({ signal }) =>
  new Promise((resolve) =>
    signal.addEventListener(
      "abort",
      () => resolve({ kind: "failed", code: "aborted", sent: "unknown", cause: "aborted" }),
    )
  );

const serving = (...ids: string[]) =>
  answered(JSON.stringify({ object: "list", data: ids.map((id) => ({ id })) }));

function rig(first: Reply, identity: object = { kind: "openai-models" }) {
  const clock = new FakeClock();
  const tier = new Tier(
    tierShape.parse({
      id: "t",
      served_model: "org/model",
      dialects: ["openai-chat"],
      identity,
      members: [{ id: "a", endpoint: "http://127.0.0.1:1" }],
    }),
    clock,
  );
  const [member] = tier.config.members;
  assert.ok(member !== undefined);
  const asks: UpstreamAsk[] = [];
  const changes: string[] = [];
  const at = { reply: first };
  const upstream: Upstream = {
    send: (ask) => {
      asks.push(ask);
      return Promise.resolve(at.reply(ask));
    },
    close: () => {},
  };
  const prober = new Prober({
    clock,
    upstream,
    node: "gpu-a",
    agentToken: () => new Secret("token-of-the-router"),
    changed: (_tier, { id }, before, after) =>
      void changes.push(`${id}: ${before.state} -> ${after.state} (${after.observed})`),
  }, TIMES);
  return { clock, tier, member, asks, changes, at, prober };
}

Deno.test("probe: asks the identity path once, without a credential, in bounded time", async () => {
  const { tier, member, asks, prober } = rig(serving("org/model"));
  assert.deepEqual(await prober.probe(tier, member), { kind: "match" });
  assert.equal(tier.readinessOf("a").state, "ready");
  assert.equal(asks.length, 1);
  const { signal: _, ...ask } = asks[0] as UpstreamAsk;
  assert.deepEqual(ask, {
    endpoint: { hostname: "127.0.0.1", port: 1 },
    method: "GET",
    target: "/v1/models",
    headers: [["accept", "application/json"], ["accept-encoding", "identity"]],
    body: { kind: "none" },
    connectMs: 1000,
  });
});

Deno.test("probe: the kind `agent` asks the agent who owns the member's port", async () => {
  const result = { proof: "proven", model: "org/model", observed: "", health: "healthy" };
  const { tier, member, asks, at, prober } = rig(answered(JSON.stringify({ result })), {
    kind: "agent",
    agent: "http://127.0.0.1:8765",
  });
  assert.deepEqual(await prober.probe(tier, member), { kind: "match" });
  const { signal: _, body, ...ask } = asks[0] as UpstreamAsk;
  assert.deepEqual(ask, {
    endpoint: { hostname: "127.0.0.1", port: 8765 },
    method: "POST",
    target: "/v1/operations/serves.identity",
    headers: [
      ["accept", "application/json"],
      ["accept-encoding", "identity"],
      ["content-type", "application/json"],
      ["x-anvil-node", "gpu-a"],
      ["authorization", "Bearer token-of-the-router"],
    ],
    connectMs: 1000,
  });
  assert.ok(body.kind === "bytes");
  assert.equal(new TextDecoder().decode(body.chunks[0]), '{"input":{"port":1}}');
  at.reply = answered(JSON.stringify({ result: { ...result, proof: "differs", observed: "x" } }));
  assert.deepEqual(await prober.probe(tier, member), { kind: "mismatch", observed: ["x"] });
  assert.equal(tier.admits, false);
});

Deno.test("probe: what each answer means", async () => {
  const cut = { kind: "unparseable", detail: "the answer is cut or larger than 1 MiB" };
  const cases: [Reply, unknown][] = [
    [serving("other"), { kind: "mismatch", observed: ["other"] }],
    [answered("<html>"), { kind: "unparseable", detail: "the answer is not JSON" }],
    [answered('{"data":[]}', { end: "broken" }), cut],
    [answered(" ".repeat(1024 * 1024 + 1)), cut],
    [answered("{}", { status: 503 }), { kind: "status", status: 503 }],
    [failed("connect_refused"), { kind: "refused", detail: "nothing listens there" }],
    [failed("closed_before_head"), { kind: "refused", detail: "no whole answer" }],
    [failed("connect_timeout"), { kind: "silent" }],
  ];
  for (const [reply, finding] of cases) {
    const { tier, member, clock, prober } = rig(reply);
    assert.deepEqual(await prober.probe(tier, member), finding);
    assert.equal(tier.admits, false);
    await clock.advance(0);
    assert.equal(clock.sleeping, 0, "no timer is left behind");
  }
});

Deno.test("probe: silence ends at its timeout", async () => {
  const { tier, member, clock, prober } = rig(silent);
  const probe = prober.probe(tier, member);
  await clock.advance(999);
  assert.equal(clock.sleeping, 1);
  await clock.advance(1);
  assert.deepEqual(await probe, { kind: "silent" });
});

Deno.test("probe: begun before a transition it makes nothing ready after it", async () => {
  const gate = Promise.withResolvers<UpstreamAnswer>();
  const { tier, member, prober } = rig(() => gate.promise);
  const probe = prober.probe(tier, member);
  tier.observe("a", { kind: "epoch-moved" });
  gate.resolve(await serving("org/model")(undefined as never));
  assert.deepEqual(await probe, { kind: "match" });
  assert.equal(tier.readinessOf("a").state, "unknown");
  assert.equal(tier.admits, false);
});

Deno.test("prober: again and again, telling changes only, until it is stopped", async () => {
  const { tier, clock, asks, changes, at, prober } = rig(failed("connect_refused"));
  prober.start([tier]);
  await clock.advance(2000);
  at.reply = serving("org/model");
  await clock.advance(6000);
  assert.equal(tier.admits, true);
  at.reply = serving("other");
  await clock.advance(2000);
  assert.equal(tier.admits, false);
  const sent = asks.length;
  assert.ok(sent >= 5, `${sent} probes`);
  await prober.stop();
  await clock.advance(10_000);
  assert.deepEqual([asks.length, clock.sleeping], [sent, 0]);
  assert.deepEqual(changes, [
    "a: unknown -> unreachable (nothing listens there)",
    "a: unreachable -> ready (the pinned model)",
    'a: ready -> identity_mismatch ("other")',
  ]);
});

Deno.test("prober: an idle member that falls silent is unreachable, a busy one is not", async () => {
  for (const busy of [false, true]) {
    const { tier, clock, at, prober } = rig(serving("org/model"));
    prober.start([tier]);
    await clock.advance(100);
    if (busy) assert.equal((await tier.lease("1")).kind, "granted");
    at.reply = silent;
    await clock.advance(30_000);
    assert.equal(tier.readinessOf("a").state, busy ? "ready" : "unreachable");
    await prober.stop();
  }
});

Deno.test("prober: a nudge brings the next probe forward", async () => {
  const { tier, member, clock, asks, prober } = rig(serving("org/model"));
  prober.start([tier]);
  await clock.advance(10);
  assert.equal(asks.length, 1);
  prober.nudge(member);
  await clock.advance(0);
  assert.equal(asks.length, 2);
  await prober.stop();
});

Deno.test("prober: stopping does not wait for an answer, nor believe it", async () => {
  const { tier, clock, prober } = rig(silent);
  prober.start([tier]);
  await clock.advance(10);
  await prober.stop();
  assert.equal(tier.readinessOf("a").state, "unknown");
  assert.equal(clock.sleeping, 0);
});
