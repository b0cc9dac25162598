/**
 * One thing that can be measured: where it is asked, what it is, and how it proves that.
 *
 * @module
 */

import { canonicalJson, type Json } from "../../../lib/core/canonical_json.ts";
import type { Clock } from "../../../lib/core/clock.ts";
import type { Files } from "../../../lib/core/files.ts";
import { hex } from "../../../lib/core/ids.ts";
import { type Refusal, refuse } from "../../../lib/core/refusal.ts";
import type { Benchmark } from "../../../lib/benchmark/run_state.ts";
import { sha256 } from "../../../lib/host/digest.ts";
import type { Upstream } from "../../../lib/relay/upstream.ts";
import type { RouterClient } from "../../../lib/serves/machines/router_client.ts";
import { type Serve, servedModel } from "../../../lib/serves/manifest_shape.ts";
import type { AgentConfig } from "../config.ts";
import type { ServesHost } from "../serves_host.ts";
import type { Door } from "./ask.ts";

/** What is asked for. */
export interface TargetAsk {
  readonly kind: "serve" | "member" | "alias";
  readonly name: string;
}

/** What it is, where it is asked, and how it proves itself. */
export interface Target {
  readonly door: Door;
  readonly subject: Benchmark["subject"];
  readonly through: Benchmark["through"];
  /** Null when it proves now that it is what `subject` says. */
  readonly prove: (signal: AbortSignal) => Promise<Refusal | null>;
}

/** What targets are found with. */
export interface TargetPorts {
  readonly config: AgentConfig;
  readonly upstream: Upstream;
  readonly clock: Clock;
  readonly files: Files;
  readonly openServes: () => Promise<ServesHost | Refusal>;
  /** The router's admin listener; null on a host whose agent knows none. */
  readonly router: RouterClient | null;
}

/** What evidence calls the model of a serve. */
export function subjectOf(serve: Serve): Benchmark["subject"] {
  const image = serve.runtime === "docker" ? /sha256:[0-9a-f]{64}$/.exec(serve.image)?.[0] : null;
  return {
    model: serve.model.id,
    revision: serve.model.revision,
    quantization: serve.model.quantization ?? null,
    served_model: servedModel(serve),
    engine: serve.engine,
    engine_version: null,
    image_digest: image ?? null,
    config_digest: hex(sha256(canonicalJson(plain(serve)))),
  };
}

/** Figures of a model that nobody proved are figures of anything. */
export function unproven(name: string, observed: string): Refusal {
  return refuse(
    "benchmark_target_unproven",
    `${name} does not prove the model it is declared with: ${observed}`,
    "start it, or mend what declares it",
  );
}

/** Nothing of that name. */
export function targetUnknown(detail: string): Refusal {
  return refuse("benchmark_target_unknown", detail, "see `benchmarks` in docs/reference/agent.md");
}

/** Without keys that are there and undefined: a digest of them would be none. */
export function plain(value: object): Json {
  return JSON.parse(JSON.stringify(value));
}
