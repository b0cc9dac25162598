import assert from "node:assert/strict";
import { conclude } from "../../lib/benchmark/conclude.ts";
import { type Corpus, corpusDigest } from "../../lib/benchmark/corpus.ts";
import {
  type Benchmark,
  eventOf,
  foldBenchmark,
  leftOf,
  stepBenchmark,
} from "../../lib/benchmark/run_state.ts";
import { readEvidence } from "../../lib/evidence/evidence.ts";
import type { ByteSource, Upstream } from "../../lib/relay/upstream.ts";
import { everyMoment } from "../../lib/testing/every_moment.ts";
import { FakeClock } from "../../lib/testing/fake_clock.ts";
import { fakeDirectories } from "../../lib/testing/fake_directories.ts";
import { Died, type FakeDisk } from "../../lib/testing/fake_disk.ts";
import { Session } from "../../roles/agent/benchmarks/session.ts";
import { BenchmarkStore } from "../../roles/agent/benchmarks/store.ts";
import type { Target } from "../../roles/agent/benchmarks/target.ts";

const ID = "bench-000001";
const FOLDER = `/disk/${ID}`;
const REPEATS = 2;

const DOCUMENT = {
  schema: 1 as const,
  name: "tiny",
  about: "three prompts",
  sampling: { temperature: 0, top_p: 1, top_k: null, seed: 1, max_tokens: 8 },
  prompts: ["a", "b", "c"].map((id) => ({
    id,
    messages: [{ role: "user" as const, content: `say ${id}` }],
  })),
};

function benchmarkOf(corpus: Corpus, concurrency: number): Benchmark {
  return {
    id: ID,
    subject: {
      ...{ model: "org/model", revision: "r1", quantization: null, served_model: "org/model" },
      ...{ engine: "fixture", engine_version: null, image_digest: null, config_digest: null },
    },
    through: { kind: "member", serve: "chat", tier: null },
    host: {
      ...{ node: "gpu-a", os: "linux", arch: "x64", runtime: "native", memory: "unified" },
      ...{ availability: "continuous", reserved: null, devices: [] },
    },
    workload: {
      corpus: { name: corpus.name, digest: corpus.digest, prompts: 3 },
      sampling: corpus.sampling,
      ...{ repeats: REPEATS, warmup: 0, concurrency, stream: true },
    },
    ...{ top_logprobs: 0, request_seconds: 10, prompts: ["a", "b", "c"] },
    tool: { name: "anvil-agent", version: "0", build_digest: null },
  };
}

/** What an engine was sent, by disk: it lives on when the agent dies. */
const sent = new WeakMap<FakeDisk, number>();

/** An engine that answers at once; that it was sent something outlives us. */
function engine(disk: FakeDisk): Upstream {
  return {
    send: async () => {
      await disk.effect(() => void sent.set(disk, (sent.get(disk) ?? 0) + 1));
      const text = 'data: {"choices":[{"delta":{"content":"x"}}]}\n\n' +
        'data: {"choices":[{"delta":{},"finish_reason":"stop"}]}\n\ndata: [DONE]\n\n';
      const left = [new TextEncoder().encode(text)];
      const body: ByteSource = {
        framing: "chunked",
        ended: false,
        holds: true,
        read: () => {
          const bytes = left.shift();
          return Promise.resolve(bytes === undefined ? { kind: "end" } : { kind: "bytes", bytes });
        },
        cancel: () => {},
      };
      const headers = [["content-type", "text/event-stream"]] as const;
      return { kind: "answered", status: 200, headers, body, reused: false };
    },
    close: () => {},
  };
}

const LOOK = {
  samples: 1,
  power: { source: "mains" as const, battery_percent_min: null },
  thermal: { state: "unknown" as const, celsius_max: null },
  pressure: { cpu_max: null, memory_max: null, io_max: null },
};

/** One life of an agent: it begins the benchmark, or goes on with it, as far as it comes. */
async function life(disk: FakeDisk, concurrency: number): Promise<void> {
  const corpus: Corpus = { ...DOCUMENT, digest: await corpusDigest(DOCUMENT) };
  const clock = new FakeClock();
  const store = new BenchmarkStore({
    root: "/disk",
    directories: fakeDirectories(disk),
    files: disk.files,
    openJournal: () => Promise.reject(new Error("not used")),
  });
  if (!disk.contents.has(FOLDER)) disk.contents.set(FOLDER, { kind: "directory" });
  const journal = disk.journal(`${FOLDER}/journal.jsonl`, eventOf);
  let state = foldBenchmark(await journal.read());
  if (state === null) {
    const at = "2026-01-01T00:00:00.000Z";
    const begun = { kind: "begun", benchmark: benchmarkOf(corpus, concurrency), at } as const;
    await journal.append(begun);
    state = stepBenchmark(null, begun);
  }
  if (leftOf(state) === 0 && state.evidence !== null) return;
  const target: Target = {
    door: { endpoint: { hostname: "127.0.0.1", port: 1 }, model: "m", key: null, tier: null },
    subject: state.benchmark.subject,
    through: state.benchmark.through,
    prove: () => Promise.resolve(null),
  };
  const look = () => Promise.resolve(LOOK);
  const ports = { clock, upstream: engine(disk), journal, store, look, onChange: () => {} };
  const session = new Session(ports, {
    run: "run-1",
    target,
    corpus,
    deadlineMs: 60_000,
    change: null,
  }, state);
  let end;
  try {
    end = await session.work();
  } catch (error) {
    if (disk.dead) throw new Died("died in the middle");
    throw error;
  }
  if (disk.dead) throw new Died("died, and told as a disk that says no");
  assert.equal(end.kind, "ended");
}

for (const [concurrency, expected] of [[1, 69], [3, 69]] as const) {
  Deno.test(`a benchmark that dies at any moment asks nothing twice and loses nothing, ${concurrency} at a time`, async () => {
    const moments = await everyMoment(async (disk, { deaths }) => {
      await life(disk, concurrency);
      const told = foldBenchmark(await disk.journal(`${FOLDER}/journal.jsonl`, eventOf).read());
      assert.ok(told !== null);
      const evidence = disk.contents.get(`${FOLDER}/evidence.json`);
      assert.ok(evidence?.kind === "file");
      const read = await readEvidence(Uint8Array.from(evidence.bytes), told.evidence ?? "");
      assert.ok(read.kind === "ok", JSON.stringify(read));
      const { requests } = read.model.body.measures;
      const all = DOCUMENT.prompts.length * REPEATS;
      assert.equal(requests.sent, all, "each is accounted for");
      assert.equal(requests.completed + requests.cancelled, all);
      assert.ok(requests.cancelled <= concurrency * deaths.length, "only what was under way");
      assert.ok((sent.get(disk) ?? 0) <= all, "an engine is never sent one twice");
      assert.ok((sent.get(disk) ?? 0) >= requests.completed);
      assert.equal(read.model.body.run.complete, true);
      const again = await conclude({ ...told, evidence: null });
      assert.equal(again.evidence.digest, told.evidence, "the same journal gives the same bytes");
    });
    assert.equal(moments, expected);
  });
}
