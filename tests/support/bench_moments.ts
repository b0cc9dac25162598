/**
 * One small benchmark on a fake disk, over an engine that outlives whoever measures it.
 *
 * @module
 */

import { type Corpus, corpusDigest } from "../../lib/benchmark/corpus.ts";
import {
  type Benchmark,
  type BenchmarkState,
  eventOf,
  foldBenchmark,
  leftOf,
  stepBenchmark,
} from "../../lib/benchmark/run_state.ts";
import type { ByteSource, Upstream } from "../../lib/relay/upstream.ts";
import { FakeClock } from "../../lib/testing/fake_clock.ts";
import { fakeDirectories } from "../../lib/testing/fake_directories.ts";
import type { FakeDisk } from "../../lib/testing/fake_disk.ts";
import { Session } from "../../roles/agent/benchmarks/session.ts";
import { BenchmarkStore } from "../../roles/agent/benchmarks/store.ts";
import type { Target } from "../../roles/agent/benchmarks/target.ts";

const ID = "bench-000001";
/** Where it is kept. */
export const FOLDER = `/disk/${ID}`;
/** Times each prompt is asked. */
export const REPEATS = 2;

/** Its prompts. */
export const DOCUMENT = {
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
export const sent = new WeakMap<FakeDisk, number>();

/** An engine that answers at once; that it was sent something outlives us. */
function engine(disk: FakeDisk, hold: (sent: number) => Promise<void>): Upstream {
  return {
    send: async () => {
      await disk.effect(() => void sent.set(disk, (sent.get(disk) ?? 0) + 1));
      await hold(sent.get(disk) ?? 0);
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

/** What the disk says of it now; null when it has not begun. */
export async function standingOn(disk: FakeDisk): Promise<BenchmarkState | null> {
  return foldBenchmark(await disk.journal(`${FOLDER}/journal.jsonl`, eventOf).read());
}

/** Begins it, or goes on with it; null when it is over. `hold` keeps answers waiting. */
export async function sessionOn(
  disk: FakeDisk,
  concurrency: number,
  hold: (sent: number) => Promise<void> = async () => {},
): Promise<Session | null> {
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
  let state = await standingOn(disk);
  if (state === null) {
    const at = "2026-01-01T00:00:00.000Z";
    const begun = { kind: "begun", benchmark: benchmarkOf(corpus, concurrency), at } as const;
    await journal.append(begun);
    state = stepBenchmark(null, begun);
  }
  if (leftOf(state) === 0 && state.evidence !== null) return null;
  const target: Target = {
    door: { endpoint: { hostname: "127.0.0.1", port: 1 }, model: "m", key: null, tier: null },
    subject: state.benchmark.subject,
    through: state.benchmark.through,
    prove: () => Promise.resolve(null),
  };
  const look = () => Promise.resolve(LOOK);
  const ports = { clock, upstream: engine(disk, hold), journal, store, look, onChange: () => {} };
  return new Session(ports, {
    run: "run-1",
    target,
    corpus,
    deadlineMs: 60_000,
    change: null,
  }, state);
}
