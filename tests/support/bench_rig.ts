/**
 * An agent that measures fixture engines, and what came of it fetched as an operator fetches it.
 *
 * @module
 */

import assert from "node:assert/strict";
import { type Named, readEvidence } from "../../lib/evidence/evidence.ts";
import type { Evidence } from "../../lib/evidence/evidence_shape.ts";
import { readHandover } from "../../lib/evidence/handover.ts";
import { type AnswerRecord, readRecords } from "../../lib/evidence/record.ts";
import type { Json } from "../../lib/core/canonical_json.ts";
import type { IdentityKind } from "../../lib/identity/kinds.ts";
import type { OpenBenchmarkJournal } from "../../roles/agent/benchmarks/store.ts";
import { type AgentRig, startAgentRig, type Told } from "./agent.ts";

/** A topology with the rig's node alone. */
export function benchTopology(availability = "continuous", runtime = "native"): string {
  const memory = 'memory = { model = "unified", budget_mib = 4096, os_reserve_mib = 1024 }\n';
  return `schema = 1\nfleet = "bench"\noperator = "gpu-a"\n\n[hosts.gpu-a]\nos = "linux"\narch = "x64"\n` +
    `roles = ["operator", "serving", "router", "evaluation"]\naddress = "127.0.0.1"\n` +
    (runtime === "" ? "" : `runtime = "${runtime}"\n${memory}`) +
    `availability = "${availability}"\n\n[[transports]]\nhost = "gpu-a"\nkind = "agent"\n` +
    `endpoint = "http://127.0.0.1:8766"\nexpected_node = "gpu-a"\ntoken = "gpu-a"\n`;
}

/** An engine on this machine, as agent.toml declares it. */
export function memberToml(
  name: string,
  port: number,
  kind: IdentityKind = "openai-models",
  engine = "fixture",
  model = "org/model",
): string {
  return `[[benchmarks.members]]\nname = "${name}"\nport = ${port}\nengine = "${engine}"\n` +
    `model = { id = "${model}", revision = "r1", quantization = "q8" }\n` +
    `identity = { kind = "${kind}" }\n`;
}

/** An agent of an evaluation host with its files in `folder`. */
export async function startBenchRig(
  folder: string,
  members: string,
  more: {
    readonly topology?: string;
    readonly openBenchmarkJournal?: OpenBenchmarkJournal;
  } = {},
): Promise<AgentRig> {
  const { topology = benchTopology(), ...ports } = more;
  await Deno.writeTextFile(`${folder}/topology.toml`, topology);
  const head = `[benchmarks]\ntopology = ${JSON.stringify(`${folder}/topology.toml`)}\n`;
  return await startAgentRig(folder, [], {
    toml: head + members,
    roles: ["evaluation"],
    ...ports,
  });
}

let keys = 0;

/** Calls `benchmarks.run`. */
export function run(rig: AgentRig, input: object, key?: string): Promise<Told> {
  return rig.call("benchmarks.run", { input }, { key: key ?? `bench-key-${keys++}` });
}

/** Measures to the end; gives the id. */
export async function measured(rig: AgentRig, input: object): Promise<string> {
  return String(resultOf(await run(rig, input))["id"]);
}

/** The result of a call that is done. */
export function resultOf(told: Told): Readonly<Record<string, unknown>> {
  assert.equal(told.status, 200, JSON.stringify(told.body));
  return told.body["result"] as Record<string, unknown>;
}

/** A benchmark as `benchmarks.status` tells it. */
export async function standing(
  rig: AgentRig,
  id: string,
): Promise<Readonly<Record<string, unknown>>> {
  const told = resultOf(await rig.call("benchmarks.status", { input: { id } }));
  const [one] = told["benchmarks"] as Record<string, unknown>[];
  assert.ok(one !== undefined);
  return one;
}

/** The evidence of `id` and its records, checked by their digests. */
export async function fetchSide(
  rig: AgentRig,
  id: string,
): Promise<{ readonly evidence: Named<Evidence>; readonly records: readonly AnswerRecord[] }> {
  const pieces: Uint8Array[] = [];
  for (let from: number | null = 0;;) {
    const told = await rig.call("benchmarks.result", { input: { id, records_from: from } });
    const handover = readHandover(resultOf(told) as Json);
    assert.ok(handover.kind === "ok", JSON.stringify(handover));
    const { evidence, records } = handover.model;
    assert.ok(evidence !== null && records !== null, JSON.stringify(handover.model));
    pieces.push(Uint8Array.fromBase64(records.piece));
    from = records.next;
    if (from !== null) continue;
    const read = await readEvidence(new TextEncoder().encode(evidence.text), evidence.id.slice(3));
    assert.ok(read.kind === "ok", JSON.stringify(read));
    const bytes = new Uint8Array(await new Blob(pieces as Uint8Array<ArrayBuffer>[]).arrayBuffer());
    const answers = await readRecords(bytes, read.model.body.records?.digest ?? "");
    assert.ok(answers.kind === "ok", JSON.stringify(answers));
    return { evidence: read.model, records: answers.model };
  }
}
