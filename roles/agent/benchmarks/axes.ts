/**
 * The host as evidence names it: its axes by the topology it was set up from, its devices by kind.
 *
 * @module
 */

import type { Json } from "../../../lib/core/canonical_json.ts";
import type { Files } from "../../../lib/core/files.ts";
import { type Refusal, refuse } from "../../../lib/core/refusal.ts";
import { textOf } from "../../../lib/credential/roster_file.ts";
import type { Benchmark } from "../../../lib/benchmark/run_state.ts";
import { readTopology } from "../../../lib/topology/read.ts";
import type { AgentConfig } from "../config.ts";
import { type FactPorts, observe } from "../facts/fact.ts";
import { ADAPTERS } from "../facts/gather.ts";

const MOST_BYTES = 2 * 1024 * 1024;
const MOST_DEVICES = 64;

/** Reads them. A host whose availability nobody declared gives figures that nobody can use. */
export async function axesOf(
  { node, benchmarks, serves }: Pick<AgentConfig, "node" | "benchmarks" | "serves">,
  files: Files,
  facts: FactPorts,
  signal: AbortSignal,
): Promise<Benchmark["host"] | Refusal> {
  const path = benchmarks?.topology ?? serves?.topology;
  if (path === undefined) {
    return unknown("agent.toml names no topology", "name one: `benchmarks.topology`");
  }
  const read = await files.readBounded(path, MOST_BYTES);
  const text = read.kind === "ok" ? textOf(read.bytes) : null;
  const fleet = text === null ? null : readTopology(text);
  if (fleet === null || fleet.kind === "invalid") {
    const next = "check it with `anvil-operator topology validate`";
    const [first] = fleet === null ? [] : fleet.problems;
    const why = first === undefined ? "" : `: ${first.path}: ${first.code}`;
    return unknown(`the installed topology cannot be read${why}`, next);
  }
  const host = Object.hasOwn(fleet.model.hosts, node) ? fleet.model.hosts[node] : undefined;
  if (host === undefined) {
    return unknown(`the topology declares no host ${node}`, "install this host's view of it");
  }
  return {
    node,
    os: host.os,
    arch: host.arch,
    runtime: host.runtime ?? null,
    memory: host.memory?.model ?? null,
    availability: host.availability,
    reserved: host.reserved ?? null,
    devices: await devicesOf(facts, signal),
  };
}

function unknown(detail: string, next: string): Refusal {
  return refuse("benchmark_host_unknown", detail, next);
}

async function devicesOf(
  facts: FactPorts,
  signal: AbortSignal,
): Promise<Benchmark["host"]["devices"]> {
  const adapter = ADAPTERS[facts.os];
  if (adapter === undefined) return [];
  const fact = await observe(facts, adapter.devices, adapter.env, signal);
  const rows = Array.isArray(fact.value) ? fact.value as readonly Json[] : [];
  return rows.slice(0, MOST_DEVICES).flatMap((row) => {
    const { name, memory_total_mib: mib } = row as { readonly [key: string]: Json };
    const shown = typeof name === "string" ? name.replaceAll(/\p{C}/gu, "").slice(0, 128) : "";
    return shown === "" ? [] : [{ name: shown, memory_mib: typeof mib === "number" ? mib : null }];
  });
}
