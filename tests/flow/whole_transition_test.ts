import assert from "node:assert/strict";
import { systemFiles } from "../../lib/host/files.ts";
import { tempDir } from "../../lib/testing/temp_dir.ts";
import { FORGETFUL, intentFile } from "../../roles/router/intent_file.ts";
import { type Engine, startEngine } from "../fixtures/engine.ts";
import { exchange, parseResponse } from "../fixtures/raw_client.ts";
import { ADMIN, Rig, type RigOptions, transition } from "../support/router_rig.ts";
import { MODEL, OBSERVER, TOKEN } from "../support/router_toml.ts";
import { ask, askBody, CHAT, StreamReader } from "../support/stream_reader.ts";
import { pause, until } from "../support/wait.ts";

async function withRig(
  more: Partial<RigOptions>,
  run: (rig: Rig, engine: Engine) => Promise<void>,
) {
  const engine = await startEngine({ rate: 100 });
  try {
    await using rig = await Rig.start({ members: [engine.port], ...more });
    await run(rig, engine);
  } finally {
    await engine.close();
  }
}

const quiesce = { tier: "primary", action: "quiesce" };
const readmit = { tier: "primary", action: "readmit" };

async function chat(rig: Rig) {
  const response = parseResponse((await exchange(rig.port, ask(CHAT))).bytes);
  assert.ok(response !== null);
  return { status: response.status, code: response.header("x-anvil-code") };
}

Deno.test("quiesce, drain and readmit say what was observed, the same when asked again", async () => {
  await withRig({}, async (rig) => {
    const stream = await StreamReader.open(
      rig.port,
      ask(CHAT, askBody({ stream: true, max_tokens: 60 })),
    );
    await stream.readUntil("Anvil token 1");
    for (let turn = 0; turn < 2; turn++) {
      const { status, body } = await transition(rig.adminPort, quiesce);
      assert.equal(status, 200);
      assert.deepEqual(body, {
        tier: "primary",
        intent: "quiesce",
        readiness: "ready",
        in_flight: 1,
        drained: false,
        persisted: false,
        dry_run: false,
      });
    }
    assert.deepEqual(await chat(rig), { status: 503, code: "tier_quiesced" });
    const late = await transition(rig.adminPort, {
      tier: "primary",
      action: "drain",
      timeout_seconds: 0.05,
    });
    assert.equal(late.status, 409);
    assert.equal(late.code, "drain_timeout");
    assert.match(late.body.error?.message ?? "", /^1 requests are still in flight/);
    assert.equal(late.body.observed?.in_flight, 1);
    const drained = transition(rig.adminPort, { tier: "primary", action: "drain" });
    assert.ok(await stream.readUntil("[DONE]"), "the stream was cut");
    stream.close();
    assert.equal((await drained).body.drained, true);
    for (let turn = 0; turn < 2; turn++) {
      const { status, body } = await transition(rig.adminPort, readmit);
      assert.equal(status, 200);
      assert.equal(body.intent, "admit");
    }
    assert.equal((await chat(rig)).status, 200);
  });
});

Deno.test("a dry run changes nothing; what is not a transition is refused", async () => {
  await withRig({}, async (rig) => {
    for (const action of ["quiesce", "drain", "readmit"]) {
      const { status, body } = await transition(rig.adminPort, {
        tier: "primary",
        action,
        dry_run: true,
      });
      assert.deepEqual([status, body.intent, body.dry_run], [200, "admit", true]);
    }
    const bad: readonly (readonly [unknown, number, string])[] = [
      [{ tier: "nobody", action: "quiesce" }, 404, "tier_unknown"],
      [{ tier: "primary", action: "stop" }, 400, "field_invalid"],
      [{ tier: "primary" }, 400, "field_invalid"],
      [{ ...quiesce, more: 1 }, 400, "field_invalid"],
      [{ ...quiesce, timeout_seconds: -1 }, 400, "field_invalid"],
      ["{", 400, "body_not_json"],
      [" ".repeat(20_000), 413, "body_too_large"],
    ];
    for (const [body, status, code] of bad) {
      const answer = await transition(rig.adminPort, body);
      assert.deepEqual([answer.status, answer.code], [status, code], JSON.stringify(body));
    }
    assert.equal((await chat(rig)).status, 200);
  });
});

Deno.test("each scope opens its own doors and no other", async () => {
  await withRig({}, async (rig) => {
    const doors: readonly (readonly [method: string, path: string, scope: string])[] = [
      ["GET", "/metrics", OBSERVER],
      ["GET", "/v1/router/status", OBSERVER],
      ["GET", "/v1/decisions", OBSERVER],
      ["POST", "/v1/admin/transition", ADMIN],
    ];
    for (const [method, path, opener] of doors) {
      for (const token of [TOKEN, OBSERVER, ADMIN, "anvil_unknown", null]) {
        const answer = await fetch(`http://127.0.0.1:${rig.adminPort}${path}`, {
          method,
          headers: token === null ? {} : { authorization: `Bearer ${token}` },
          ...(method === "POST" ? { body: JSON.stringify({ ...quiesce, dry_run: true }) } : {}),
        });
        await answer.body?.cancel();
        const expected = token === opener
          ? 200
          : token === null || token === "anvil_unknown"
          ? 401
          : 403;
        assert.equal(answer.status, expected, `${path} with ${token}`);
      }
    }
    for (const token of [OBSERVER, ADMIN]) {
      const { bytes } = await exchange(
        rig.port,
        ask(CHAT, askBody(), { authorization: `Bearer ${token}` }),
      );
      assert.match(new TextDecoder().decode(bytes), /^HTTP\/1.1 40[013]/);
    }
  });
});

Deno.test("those who wait when a tier is quiesced are refused, not kept waiting", async () => {
  await withRig({ admission: { in_flight: 1, queue: 8, queue_seconds: 5 } }, async (rig) => {
    const stream = await StreamReader.open(
      rig.port,
      ask(CHAT, askBody({ stream: true, max_tokens: 300 })),
    );
    await stream.readUntil("Anvil token 1");
    const waiting = [chat(rig), chat(rig), chat(rig)];
    const tier = rig.router.core.tiers.get("primary");
    await until("three wait", () => tier?.waiting === 3);
    await transition(rig.adminPort, quiesce);
    for (const answer of await Promise.all(waiting)) {
      assert.deepEqual(answer, { status: 503, code: "tier_quiesced" });
    }
    assert.equal(tier?.inFlight, 1);
    stream.close();
    await until("the lease is given up", () => tier?.inFlight === 0);
  });
});

Deno.test("readmit against a wrong model: 409 with both names, and the tier stays quiesced", async () => {
  await withRig({}, async (rig, engine) => {
    await transition(rig.adminPort, quiesce);
    engine.setModel("org/impostor");
    const refused = await transition(rig.adminPort, readmit);
    assert.deepEqual([refused.status, refused.code], [409, "readmit_refused"]);
    assert.match(refused.body.error?.message ?? "", /expected org\/model, .*"org\/impostor"/);
    assert.equal(refused.body.observed?.intent, "quiesce");
    assert.equal((await chat(rig)).status, 503);
    engine.setModel(MODEL);
    assert.equal((await transition(rig.adminPort, readmit)).status, 200);
    assert.equal((await chat(rig)).status, 200);
  });
});

Deno.test("a probe that began before a transition makes nothing ready after it", async () => {
  await withRig({ probes: { interval_ms: 60_000, timeout_ms: 5000 } }, async (rig, engine) => {
    const tier = rig.router.core.tiers.get("primary");
    assert.ok(tier !== undefined);
    await transition(rig.adminPort, quiesce);
    // Slow, and true when it was asked: the model changes while the answer is under way.
    engine.setFault("slow-body;ms=30", { on: "get", times: 1 });
    const before = tier.readinessOf("m1").epoch;
    const slow = transition(rig.adminPort, readmit);
    await until("the epoch moved", () => tier.readinessOf("m1").epoch > before);
    await pause(40);
    tier.observe("m1", { kind: "epoch-moved" });
    const refused = await slow;
    assert.deepEqual([refused.status, refused.code], [409, "readmit_refused"]);
    assert.equal(tier.readinessOf("m1").state, "unknown");
    assert.equal(tier.admits, false);
  });
});

Deno.test("an intent that cannot be kept changes nothing: 507", async () => {
  await using dir = await tempDir();
  const path = `${dir.path}/intent.json`;
  await Deno.mkdir(`${path}/in-the-way`, { recursive: true });
  const file = intentFile(path, systemFiles);
  // The directory in its place is there for the write alone: this router starts as a fresh one.
  const intents = { ...file, restore: FORGETFUL.restore };
  await withRig({ intents }, async (rig) => {
    const refused = await transition(rig.adminPort, quiesce);
    assert.deepEqual([refused.status, refused.code], [507, "intent_not_kept"]);
    assert.equal(refused.body.observed?.intent, "admit");
    assert.equal((await chat(rig)).status, 200);
    await Deno.remove(path, { recursive: true });
    assert.equal((await transition(rig.adminPort, quiesce)).status, 200);
    assert.deepEqual(JSON.parse(await Deno.readTextFile(path)), {
      schema: 1,
      quiesced: ["primary"],
    });
    await Deno.remove(path);
    await Deno.mkdir(`${path}/in-the-way`, { recursive: true });
    assert.equal((await transition(rig.adminPort, readmit)).status, 507);
    assert.equal((await chat(rig)).status, 503);
  });
});

Deno.test("an intent file nobody can read quiesces every tier, loudly", async () => {
  const whole = `{"schema":1,"quiesced":[]}\n`;
  const texts = [
    ...Array.from({ length: whole.length - 2 }, (_, length) => whole.slice(0, length)),
    `{"schema":2,"quiesced":[]}`,
    `{"schema":1,"quiesced":["primary"],"more":1}`,
    `{"schema":1,"quiesced":"primary"}`,
    "\u0000\u0000\u0000",
    "null",
  ];
  await using dir = await tempDir();
  const path = `${dir.path}/intent.json`;
  for (const text of texts) {
    await Deno.writeTextFile(path, text);
    await using rig = await Rig.start({
      members: [1],
      waitReady: false,
      intents: intentFile(path, systemFiles),
    });
    const report = rig.router.core.tiers.get("primary")?.report();
    assert.equal(report?.intent, "quiesce", JSON.stringify(text));
    assert.ok(rig.remarks.some((line) => line.startsWith("every tier starts quiesced")), text);
  }
  await Deno.writeTextFile(path, whole);
  await using rig = await Rig.start({
    members: [1],
    waitReady: false,
    intents: intentFile(path, systemFiles),
  });
  assert.equal(rig.router.core.tiers.get("primary")?.report().intent, "admit");
});
