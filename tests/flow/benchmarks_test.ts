import assert from "node:assert/strict";
import { openJournal } from "../../lib/host/journal.ts";
import { tempDir } from "../../lib/testing/temp_dir.ts";
import type { OpenBenchmarkJournal } from "../../roles/agent/benchmarks/store.ts";
import { CORPORA } from "../../lib/benchmark/corpora.ts";
import { type Engine, type EngineOptions, startEngine } from "../fixtures/engine.ts";
import type { AgentRig } from "../support/agent.ts";
import {
  benchTopology,
  fetchSide,
  measured,
  memberToml,
  resultOf,
  run,
  standing,
  startBenchRig,
} from "../support/bench_rig.ts";
import { until } from "../support/wait.ts";

const TARGET = { kind: "member", name: "chat" };
const ASK = { target: TARGET, corpus: "chat", top_logprobs: 0 };

/** An engine, an agent that may measure it, and both gone afterwards. */
async function rigged(
  options: EngineOptions,
  test: (engine: Engine, rig: AgentRig, folder: string) => Promise<void>,
  more: Parameters<typeof startBenchRig>[2] = {},
): Promise<void> {
  await using dir = await tempDir();
  const engine = await startEngine(options);
  try {
    await using rig = await startBenchRig(dir.path, memberToml("chat", engine.port), more);
    await test(engine, rig, dir.path);
  } finally {
    await engine.close();
  }
}

Deno.test("benchmarks: what is asked, how often and how many at a time; what it came to", async () => {
  await rigged({ tokens: 20, rate: 2000 }, async (engine, rig) => {
    const input = { ...ASK, repeats: 2, concurrency: 4, top_logprobs: 3 };
    const dry = resultOf(await rig.call("benchmarks.run", { input, dry_run: true }));
    assert.deepEqual([dry["requests"], dry["left"], dry["benchmark"]], [24, 24, null]);
    assert.equal(engine.counts.completed, 0, "a dry run asks for no answer");
    const id = await measured(rig, input);
    assert.equal(engine.counts.completed, 24, "each prompt twice, none a third time");
    const { evidence: { body }, records } = await fetchSide(rig, id);
    assert.deepEqual(body.measures.requests, { sent: 24, completed: 24, failed: 0, cancelled: 0 });
    assert.deepEqual(body.measures.tokens, {
      prompt: body.measures.tokens.prompt,
      completion: 480,
      counted_by: "engine",
    });
    assert.equal(body.run.complete, true);
    assert.equal(body.workload.concurrency, 4);
    assert.equal(body.workload.sampling.temperature, 0);
    assert.equal(body.host.availability, "continuous");
    assert.ok(body.conditions !== null && body.conditions.samples >= 2, "looked at twice at least");
    assert.equal(body.measures.ttft_ms?.count, 24);
    assert.ok((body.measures.tokens_per_second?.p50 ?? 0) > 0);
    assert.equal(records[0]?.tokens?.length, 20);
    assert.equal(records[0]?.top?.[0]?.length, 3);
    assert.deepEqual(records.map(({ repeat }) => repeat), [
      ...Array(12).fill(0),
      ...Array(12).fill(1),
    ]);
    const sent = JSON.parse(new TextDecoder().decode(engine.last?.body));
    assert.deepEqual(
      [sent.temperature, sent.seed, sent.max_tokens, sent.stream, sent.model],
      [0, 20260101, 96, true, "org/model"],
    );
    const told = await standing(rig, id);
    assert.deepEqual([told["state"], told["left"], told["resumed"]], ["complete", 0, 0]);
    const over = await run(rig, { resume: id });
    assert.equal(over.code, "benchmark_over");
    const listed = resultOf(await rig.call("evidence.list", { input: {} }));
    const [one] = listed["evidence"] as Record<string, unknown>[];
    assert.equal(one?.["id"], id);
    const got = await rig.call("evidence.get", { input: { id: one?.["evidence"] } });
    assert.equal((resultOf(got)["evidence"] as { id: string }).id, one?.["evidence"]);
    const absent = await rig.call("evidence.get", { input: { id: `ev-${"0".repeat(64)}` } });
    assert.equal(absent.code, "evidence_unknown");
  });
});

for (
  const [fault, code, more] of [
    ["half-event;event=4", "truncated", {}],
    ["half-event;event=4;end=clean", "truncated", {}],
    ["no-terminator", "truncated", {}],
    ["fin-at;byte=900", "truncated", {}],
    ["reset-at;byte=900", "broken", {}],
    ["bad-head", "no_answer", {}],
    ["429", "http_429", {}],
    ["500", "http_500", {}],
    ["500-html", "http_500", {}],
    ["hang", "timed_out", { request_seconds: 1 }],
  ] as const
) {
  Deno.test(`benchmarks: ${fault} is the error ${code}, once, and never a success`, async () => {
    await rigged({ tokens: 20 }, async (engine, rig) => {
      engine.setFault(fault, { times: 1 });
      const id = await measured(rig, { ...ASK, ...more });
      const { evidence: { body }, records } = await fetchSide(rig, id);
      assert.deepEqual(body.measures.requests, {
        sent: 12,
        completed: 11,
        failed: 1,
        cancelled: 0,
      });
      assert.deepEqual(body.measures.errors, [{ code, count: 1 }]);
      assert.equal(records.filter(({ error }) => error !== null).length, 1);
      assert.equal(body.measures.ttft_ms?.count, 11, "a failed answer has no part in the figures");
      const posts = engine.events.filter((one) => one.kind === "request" && one.method === "POST");
      assert.equal(posts.length, 12, "nothing was sent again");
    });
  });
}

Deno.test("benchmarks: what is refused before anything is asked", async () => {
  await rigged({}, async (engine, rig) => {
    const refused = async (input: object) => (await run(rig, input)).code;
    assert.equal(await refused({ ...ASK, corpus: "nothing" }), "corpus_unknown");
    assert.equal(await refused({ ...ASK, corpus_digest: "0".repeat(64) }), "corpus_differs");
    const digest = CORPORA["chat"]?.digest;
    const dry = await rig.call("benchmarks.run", {
      input: { ...ASK, corpus_digest: digest },
      dry_run: true,
    });
    assert.equal(dry.status, 200, "the digest that is shipped is the one that is meant");
    assert.equal(
      await refused({ ...ASK, target: { ...TARGET, name: "x" } }),
      "benchmark_target_unknown",
    );
    assert.equal(
      await refused({ ...ASK, target: { kind: "serve", name: "x" } }),
      "serves_not_configured",
    );
    const alias = { kind: "alias", name: "llm" };
    assert.equal(await refused({ ...ASK, target: alias }), "benchmark_router_not_configured");
    assert.equal(await refused({ corpus: "chat" }), "benchmark_incomplete");
    assert.equal(await refused({ ...ASK, resume: "bench-000001" }), "benchmark_resume_alone");
    assert.equal(await refused({ resume: "bench-000001" }), "benchmark_unknown");
    assert.equal(await refused({ ...ASK, repeats: 100, top_logprobs: 20 }), "benchmark_too_large");
    assert.equal(await refused({ ...ASK, temperature: 1 }), "input_invalid");
    engine.setModel("org/other");
    assert.equal(await refused(ASK), "benchmark_target_unproven");
    engine.stopListening();
    assert.equal(await refused(ASK), "benchmark_target_unproven");
    const told = resultOf(await rig.call("benchmarks.status", { input: {} }));
    assert.deepEqual(told, { live: null, benchmarks: [] });
    assert.equal(
      (await rig.call("benchmarks.result", { input: { id: "x" } })).code,
      "benchmark_unknown",
    );
  });
});

Deno.test("benchmarks: a host that is model-free or not in its topology measures no engine", async () => {
  await rigged({}, async (_engine, rig) => {
    assert.equal((await run(rig, ASK)).code, "benchmark_host_model_free");
  }, { topology: benchTopology("opportunistic", "") });
  await rigged({}, async (_engine, rig) => {
    assert.equal((await run(rig, ASK)).code, "benchmark_host_unknown");
  }, { topology: benchTopology().replaceAll("gpu-a", "gpu-b") });
});

/** The benchmark that runs, once `many` of its requests were asked. */
async function running(engine: Engine, rig: AgentRig, many: number): Promise<string> {
  await until(
    "requests are asked",
    () =>
      engine.events.filter((one) => one.kind === "request" && one.method === "POST").length >= many,
  );
  return String(resultOf(await rig.call("benchmarks.status", { input: {} }))["live"]);
}

Deno.test("benchmarks: one at a time; cancelled it keeps what it has; resumed it asks the rest", async () => {
  await rigged({ tokens: 30, rate: 100 }, async (engine, rig) => {
    const first = run(rig, ASK, "first-key-1");
    const id = await running(engine, rig, 3);
    assert.equal((await run(rig, ASK)).code, "benchmark_busy");
    const wrong = await rig.call("benchmarks.cancel", { input: { id: "bench-000099" } }, {
      key: "cancel-key-0",
    });
    assert.equal(wrong.code, "benchmark_not_running");
    const cancel = () => rig.call("benchmarks.cancel", { input: {} }, { key: "cancel-key-1" });
    assert.deepEqual(resultOf(await cancel()), { id, over: true });
    const ended = await first;
    assert.equal(ended.code, "benchmark_cancelled");
    assert.deepEqual(resultOf(await cancel()), { id, over: true }, "asked twice: one answer");
    const late = await rig.call("benchmarks.cancel", { input: {} }, { key: "cancel-key-2" });
    assert.equal(late.code, "benchmark_not_running", "late: there is nothing to end any more");
    const part = (await fetchSide(rig, id)).evidence.body;
    assert.equal(part.run.complete, false);
    assert.equal(part.measures.requests.cancelled, 1);
    const posts = () =>
      engine.events.filter((one) => one.kind === "request" && one.method === "POST").length;
    const before = posts();
    const resumed = resultOf(await run(rig, { resume: id }));
    assert.equal(resumed["resumed"], 1);
    assert.equal(posts() - before, 12 - part.measures.requests.sent, "only what was never asked");
    const whole = (await fetchSide(rig, id)).evidence.body;
    assert.deepEqual([whole.run.complete, whole.run.resumed], [true, 1]);
    assert.equal(whole.measures.requests.sent, 12);
    const again = await rig.call("benchmarks.run", { input: ASK }, { key: "first-key-1" });
    assert.equal(
      again.code,
      "benchmark_cancelled",
      "the key tells how its run ended, and runs nothing",
    );
  });
});

Deno.test("benchmarks: its deadline lets what is under way end, and asks no more", async () => {
  await rigged({ tokens: 30, rate: 40 }, async (engine, rig) => {
    const told = await run(rig, { ...ASK, deadline_seconds: 1 });
    assert.equal(told.code, "benchmark_deadline");
    const { evidence: { body } } = await fetchSide(rig, "bench-000001");
    assert.equal(body.measures.requests.cancelled, 0);
    assert.equal(body.measures.requests.completed, body.measures.requests.sent);
    assert.ok(body.measures.requests.sent < 12);
    assert.equal(engine.open <= 1, true);
  });
});

Deno.test("benchmarks: a model that goes away, or is replaced in the middle, leaves no evidence", async () => {
  await rigged({ tokens: 5, rate: 50 }, async (engine, rig) => {
    const asked = run(rig, ASK);
    const id = await running(engine, rig, 10);
    engine.setFault("wrong-model", { on: "get" });
    assert.equal((await asked).code, "benchmark_target_lost");
    const told = resultOf(await rig.call("benchmarks.result", { input: { id } }));
    assert.deepEqual([told["state"], told["evidence"]], ["target_lost", null]);
  });
  await rigged({ tokens: 5 }, async (engine, rig) => {
    engine.setFault("connection-close");
    const asked = run(rig, { ...ASK, repeats: 100 });
    await running(engine, rig, 20);
    engine.stopListening();
    assert.equal(
      (await asked).code,
      "benchmark_target_lost",
      "not a hundred times nobody is there",
    );
  });
});

Deno.test("benchmarks: on a full disk nothing more is asked; with space it goes on", async () => {
  let left = Infinity;
  const full: OpenBenchmarkJournal = async (path, decode) => {
    const opened = await openJournal(path, decode);
    if (opened.kind !== "open") return opened;
    const { journal } = opened;
    const append: typeof journal.append = (event) =>
      --left < 0 ? Promise.reject(new Error("no space left")) : journal.append(event);
    return {
      kind: "open",
      journal: {
        append,
        read: () => journal.read(),
        close: () => journal.close(),
        [Symbol.asyncDispose]: () => journal.close(),
      },
    };
  };
  await rigged({ tokens: 5 }, async (engine, rig) => {
    left = 0;
    assert.equal((await run(rig, ASK)).code, "benchmark_not_kept");
    assert.equal(engine.counts.completed, 0);
    left = 9; // begun, session, three asked and answered, one asked
    const told = await run(rig, ASK);
    assert.equal(told.code, "benchmark_not_kept");
    const { id } = (resultOf(await rig.call("benchmarks.status", { input: {} }))["benchmarks"] as {
      id: string;
    }[])[0] ?? { id: "" };
    assert.equal((await standing(rig, id))["state"], "interrupted");
    left = Infinity;
    resultOf(await run(rig, { resume: id }));
    const { evidence: { body }, records } = await fetchSide(rig, id);
    assert.deepEqual(body.measures.requests, { sent: 12, completed: 11, failed: 0, cancelled: 1 });
    assert.deepEqual(
      records.filter(({ error }) => error !== null).map(({ error }) => error),
      ["interrupted"],
      "the one that was asked and not written down is never asked again",
    );
    assert.equal(body.measures.throughput, null, "nobody knows how long the first part took");
  }, { openBenchmarkJournal: full });
});

Deno.test("benchmarks: evidence that was edited on the disk is not handed over", async () => {
  await rigged({ tokens: 5 }, async (_engine, rig, folder) => {
    const id = await measured(rig, ASK);
    const path = `${folder}/state/benchmarks/${id}/records.jsonl`;
    const records = await Deno.readTextFile(path);
    await Deno.writeTextFile(path, records.replace("Anvil token 1", "Anvil token 2"));
    const piece = await rig.call("benchmarks.result", { input: { id, records_from: 0 } });
    assert.equal(piece.code, "benchmark_damaged");
    const evidence = `${folder}/state/benchmarks/${id}/evidence.json`;
    await Deno.writeTextFile(evidence, (await Deno.readTextFile(evidence)).replace("r1", "r2"));
    const told = await rig.call("benchmarks.result", { input: { id } });
    assert.equal(told.code, "benchmark_damaged");
  });
});
