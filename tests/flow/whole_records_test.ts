import assert from "node:assert/strict";
import { openRecordFile } from "../../lib/host/record_sink.ts";
import { tempDir } from "../../lib/testing/temp_dir.ts";
import type { Decision } from "../../roles/router/decision.ts";
import { type Engine, startEngine } from "../fixtures/engine.ts";
import { exchange, parseResponse } from "../fixtures/raw_client.ts";
import { readPrometheus, type Sample } from "../support/prometheus_text.ts";
import { observe, Rig, type RigOptions } from "../support/router_rig.ts";
import { OBSERVER } from "../support/router_toml.ts";
import { ask, askBody, CHAT, StreamReader } from "../support/stream_reader.ts";
import { until } from "../support/wait.ts";

async function withRig(
  more: Partial<RigOptions>,
  run: (rig: Rig, engine: Engine) => Promise<void>,
) {
  const engine = await startEngine({ rate: 200 });
  try {
    await using rig = await Rig.start({ members: [engine.port], ...more });
    await run(rig, engine);
  } finally {
    await engine.close();
  }
}

async function chat(rig: Rig, fault = "", body = askBody()): Promise<number> {
  const more = fault === "" ? {} : { "x-fixture-fault": fault };
  const response = parseResponse((await exchange(rig.port, ask(CHAT, body, more))).bytes);
  return response?.status ?? 0;
}

function valueOf(samples: readonly Sample[], name: string, labels: object = {}): number {
  const wanted = Object.entries(labels);
  return samples
    .filter((one) => one.name === name && wanted.every(([key, value]) => one.labels[key] === value))
    .reduce((sum, { value }) => sum + value, 0);
}

Deno.test("metrics are valid text, count what the decisions say, and show the leases there are", async () => {
  await withRig({}, async (rig) => {
    await chat(rig);
    await chat(rig, "500");
    await chat(rig, "reset-at;byte=0");
    await chat(rig, "half-event", askBody({ stream: true }));
    await chat(rig, "", askBody({ model: 'no"such\\model\n' }));
    const open = await Promise.all([0, 1, 2].map(async () => {
      const body = askBody({ stream: true, max_tokens: 2000 });
      const stream = await StreamReader.open(rig.port, ask(CHAT, body));
      await stream.readUntil("Anvil token 1");
      return stream;
    }));
    const during = readPrometheus(await observe(rig.adminPort, "/metrics"));
    const tier = rig.router.core.tiers.get("primary");
    assert.equal(tier?.inFlight, 3);
    assert.equal(valueOf(during, "anvil_router_tier_in_flight"), 3);
    assert.equal(valueOf(during, "anvil_router_open_requests"), 3);
    for (const stream of open) stream.close();
    await until("all are recorded", () => rig.decisions.length === 8);
    const after = readPrometheus(await observe(rig.adminPort, "/metrics"));
    assert.equal(valueOf(after, "anvil_router_tier_in_flight"), 0);
    const outcomes = Map.groupBy(rig.decisions, ({ outcome }) => outcome);
    for (const [outcome, decisions] of outcomes) {
      const counted = valueOf(after, "anvil_router_requests_total", { outcome });
      assert.equal(counted, decisions.length, outcome);
    }
    const sum = (read: (decision: Decision) => number) =>
      rig.decisions.reduce((total, decision) => total + read(decision), 0);
    assert.equal(valueOf(after, "anvil_router_requests_total"), 8);
    assert.equal(valueOf(after, "anvil_router_dispatches_total"), sum((one) => one.dispatched));
    assert.equal(
      valueOf(after, "anvil_router_body_bytes_total", { direction: "out" }),
      sum((one) => one.bytes_out),
    );
    assert.equal(
      valueOf(after, "anvil_router_tokens_total", { direction: "out" }),
      sum((one) => one.usage?.output_tokens ?? 0),
    );
    assert.equal(valueOf(after, "anvil_router_request_seconds_count"), 8);
    const started = valueOf(after, "process_start_time_seconds");
    assert.ok(Math.abs(started - Date.now() / 1000) < 600, `${started}`);
  });
});

Deno.test("decisions rotate, bounded by size and number, each line whole", async () => {
  await using dir = await tempDir();
  const path = `${dir.path}/decisions.jsonl`;
  await using sink = openRecordFile({ path, maxFileBytes: 4000, keep: 2 });
  await withRig({ sink }, async (rig) => {
    for (let turn = 0; turn < 60; turn++) assert.equal(await chat(rig), 200);
    await until("all are recorded", () => rig.decisions.length === 60);
    await sink.flush();
  });
  const names = (await Array.fromAsync(Deno.readDir(dir.path))).map(({ name }) => name).sort();
  assert.deepEqual(names, ["decisions.jsonl", "decisions.jsonl.1", "decisions.jsonl.2"]);
  for (const name of names) {
    const text = await Deno.readTextFile(`${dir.path}/${name}`);
    assert.ok(text.length <= 4000, name);
    for (const line of text.trimEnd().split("\n")) {
      assert.equal(JSON.parse(line).outcome, "completed");
    }
  }
});

Deno.test("a disk that takes no records: requests go on, the loss is counted, and ends", async () => {
  await using dir = await tempDir();
  const folder = `${dir.path}/state`;
  await using sink = openRecordFile({
    path: `${folder}/decisions.jsonl`,
    maxFileBytes: 1 << 20,
    keep: 1,
    maxQueued: 4,
    retryMs: 20,
  });
  await withRig({ sink }, async (rig) => {
    for (let turn = 0; turn < 10; turn++) assert.equal(await chat(rig), 200);
    await until("all have ended", () => rig.decisions.length === 10);
    assert.equal(sink.lost, 6);
    const status = JSON.parse(await observe(rig.adminPort, "/v1/router/status"));
    assert.equal(status.decisions_lost, 6);
    const samples = readPrometheus(await observe(rig.adminPort, "/metrics"));
    assert.equal(valueOf(samples, "anvil_router_decisions_lost"), 6);
    await Deno.mkdir(folder);
    await until("it is written again", async () => {
      const text = await Deno.readTextFile(`${folder}/decisions.jsonl`).catch(() => "");
      return text.trimEnd().split("\n").length === 4;
    });
    assert.equal(await chat(rig), 200);
    await until("new ones too", () => rig.decisions.length === 11);
    await sink.flush();
    assert.equal(sink.lost, 6);
  });
});

Deno.test("a device that is full: requests go on, the loss is counted", {
  ignore: Deno.build.os !== "linux",
}, async () => {
  await using dir = await tempDir();
  await Deno.symlink("/dev/full", `${dir.path}/decisions.jsonl`);
  await using sink = openRecordFile({
    path: `${dir.path}/decisions.jsonl`,
    maxFileBytes: 1 << 20,
    keep: 1,
    maxQueued: 2,
    retryMs: 20,
  });
  await withRig({ sink }, async (rig) => {
    for (let turn = 0; turn < 6; turn++) assert.equal(await chat(rig), 200);
    await until("all have ended", () => rig.decisions.length === 6);
    await sink.flush();
    assert.equal(sink.lost, 6);
  });
});

Deno.test("who follows the decisions gets each from then on, one line each, and no more follow than may", async () => {
  await withRig({}, async (rig) => {
    await chat(rig);
    const follow = () =>
      fetch(`http://127.0.0.1:${rig.adminPort}/v1/decisions?follow`, {
        headers: { authorization: `Bearer ${OBSERVER}` },
      });
    const followed = await follow();
    assert.equal(followed.headers.get("content-type"), "application/x-ndjson");
    const lines = followed.body?.pipeThrough(new TextDecoderStream());
    assert.ok(lines !== undefined);
    const reader: ReadableStreamDefaultReader<string> = lines.getReader();
    for (let turn = 0; turn < 3; turn++) {
      await chat(rig);
      const line: ReadableStreamReadResult<string> = await reader.read();
      const value = line.value ?? "";
      assert.match(value, /\n$/);
      assert.equal(JSON.parse(value).request_id, rig.decisions.at(-1)?.request_id);
    }
    const others = await Promise.all(Array.from({ length: 15 }, follow));
    assert.ok(others.every(({ status }) => status === 200));
    const tooMany = await follow();
    assert.equal(tooMany.status, 429);
    await tooMany.body?.cancel();
    await reader.cancel();
    for (const one of others) await one.body?.cancel();
    await until("a place is free again", async () => {
      const again = await follow();
      await again.body?.cancel();
      return again.status === 200;
    });
  });
});
