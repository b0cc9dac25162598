/**
 * Evidence for tests: one sound document and its records, to be changed in the place a test is about.
 *
 * @module
 */

import { writeEvidence } from "../evidence/evidence.ts";
import type { Conditions, Distribution, Evidence } from "../evidence/evidence_shape.ts";
import { type AnswerRecord, recordsText } from "../evidence/record.ts";
import { digestOf } from "../evidence/evidence.ts";

/** `count` values between `low` and `high`. */
export function spread(count: number, low: number, high: number): Distribution {
  const middle = (low + high) / 2;
  const near = high - (high - low) / 10;
  return { count, min: low, mean: middle, p50: middle, p90: near, p99: high, max: high };
}

/** Conditions of a machine on mains that never throttled. */
export const CALM: Conditions = {
  samples: 12,
  power: { source: "mains", battery_percent_min: null },
  thermal: { state: "nominal", celsius_max: 61 },
  pressure: { cpu_max: 3.5, memory_max: 0, io_max: 0.2 },
};

/** Conditions of a laptop that ran down its battery. */
export const HARSH: Conditions = {
  samples: 12,
  power: { source: "battery", battery_percent_min: 37 },
  thermal: { state: "throttled", celsius_max: 98 },
  pressure: { cpu_max: 41, memory_max: 12.25, io_max: null },
};

/** A measurement of a continuous host, four prompts. */
export function sampleEvidence(change: (body: Evidence) => void = () => {}): Evidence {
  const body: Evidence = {
    schema: "evidence/v1",
    run: {
      id: "bench-000001",
      started_at: "2026-01-31T08:00:00.000Z",
      ended_at: "2026-01-31T08:02:00.000Z",
      complete: true,
      resumed: 0,
    },
    subject: {
      model: "example/model-8b",
      revision: "0123456789abcdef",
      quantization: "fp8",
      served_model: "model-8b",
      engine: "vllm",
      engine_version: "0.9.1",
      image_digest: `sha256:${"a1".repeat(32)}`,
      config_digest: "b2".repeat(32),
    },
    through: { kind: "member", serve: "primary", tier: "primary" },
    host: {
      node: "gpu-a",
      os: "linux",
      arch: "x64",
      runtime: "docker",
      memory: "discrete",
      availability: "continuous",
      reserved: null,
      devices: [{ name: "Example GPU", memory_mib: 97_887 }],
    },
    conditions: structuredClone(CALM),
    workload: {
      corpus: { name: "short-answers", digest: "c3".repeat(32), prompts: 4 },
      sampling: { temperature: 0, top_p: null, top_k: null, seed: 7, max_tokens: 64 },
      repeats: 1,
      warmup: 1,
      concurrency: 1,
      stream: true,
    },
    measures: {
      requests: { sent: 4, completed: 4, failed: 0, cancelled: 0 },
      tokens: { prompt: 80, completion: 40, counted_by: "engine" },
      ttft_ms: spread(4, 20, 40),
      total_ms: spread(4, 200, 400),
      tokens_per_second: spread(4, 48, 52),
      throughput: 49.5,
      errors: [],
    },
    records: null,
    tool: { name: "anvil-agent", version: "0.1.0", build_digest: null },
  };
  change(body);
  return body;
}

/** The same of a laptop: another engine, another host, opportunistic, conditions stated. */
export function laptopEvidence(change: (body: Evidence) => void = () => {}): Evidence {
  return sampleEvidence((body) => {
    body.subject.engine = "mlx-lm";
    body.subject.engine_version = "0.28.0";
    body.subject.image_digest = null;
    body.subject.config_digest = "d4".repeat(32);
    body.host = {
      node: "mac",
      os: "macos",
      arch: "arm64",
      runtime: "native",
      memory: "unified",
      availability: "opportunistic",
      reserved: null,
      devices: [],
    };
    body.conditions = structuredClone(HARSH);
    change(body);
  });
}

/** One answer; `tokens` are its text. */
export function sampleRecord(
  prompt: string,
  tokens: readonly string[],
  change: Partial<AnswerRecord> = {},
): AnswerRecord {
  return {
    prompt,
    repeat: 0,
    output: tokens.join(""),
    tokens: [...tokens],
    top: tokens.map((token) => [[token, -0.125], ["…", -2.5]]),
    finish: "stop",
    refusal: false,
    error: null,
    ttft_ms: 20,
    total_ms: 200,
    ...change,
  };
}

/** A document with its records: what a run leaves behind. */
export async function sampleRun(
  body: Evidence,
  records: readonly AnswerRecord[],
): Promise<
  Awaited<ReturnType<typeof writeEvidence>> & { readonly records: Uint8Array<ArrayBuffer> }
> {
  const bytes = new TextEncoder().encode(recordsText(records));
  const digest = await digestOf(bytes);
  const written = await writeEvidence({
    ...body,
    records: records.length === 0 ? null : { digest, bytes: bytes.length, count: records.length },
  });
  return { ...written, records: bytes };
}
