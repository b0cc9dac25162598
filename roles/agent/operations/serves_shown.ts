/**
 * How serves are shown to whoever asked.
 *
 * @module
 */

import type { Json } from "../../../lib/core/canonical_json.ts";
import { timestamp } from "../../../lib/core/clock.ts";
import type { Exit, Instance, Proof, ServeState } from "../../../lib/serves/driver.ts";
import type { Serve } from "../../../lib/serves/manifest_shape.ts";
import type { ServesHost } from "../serves_host.ts";

/** What this host can do. */
export function capabilities(node: string, { host, drivers }: ServesHost): Json {
  const kinds = drivers.map(({ kind }) => kind);
  return {
    node,
    os: host.os,
    runtime: host.runtime ?? null,
    memory: host.memory?.model ?? null,
    availability: host.availability,
    reserved: host.reserved ?? null,
    drivers: kinds,
    // Windows can only kill what has no window.
    stop: kinds.length > 0 && kinds.every((kind) => kind === "windows-task") ? "force" : "ask",
  };
}

/** What the manifest says of a serve, in short. */
export function declared(serve: Serve): { readonly [key: string]: Json } {
  return {
    name: serve.name,
    capability: serve.capability,
    runtime: serve.runtime,
    port: serve.port,
    tier: serve.tier,
    mode: serve.mode ?? null,
    residency: serve.residency,
    model: serve.model.id,
    revision: serve.model.revision,
    quantization: serve.model.quantization ?? null,
    engine: serve.engine,
  };
}

/** What runs under its name. */
export function stateJson(state: ServeState): { readonly [key: string]: Json } {
  switch (state.kind) {
    case "running":
    case "stopping":
      return { state: state.kind, instance: instanceJson(state.instance) };
    case "stopped":
      return { state: "stopped", exit: state.exit === null ? null : exitJson(state.exit) };
    case "foreign": {
      const instance = state.instance === null ? null : instanceJson(state.instance);
      return { state: "foreign", why: state.detail, instance };
    }
    case "unknown":
      return { state: "unknown", why: state.detail, code: state.code };
  }
}

/** One life. */
export function instanceJson(instance: Instance): { readonly [key: string]: Json } {
  return {
    id: instance.id,
    pid: instance.pid,
    started_at: instance.startedAt === null ? null : timestamp(instance.startedAt),
    resident_mib: instance.residentMib,
    command_line: instance.commandLine,
    image_digest: instance.imageDigest,
  };
}

function exitJson(exit: Exit): Json {
  return {
    code: exit.code,
    signal: exit.signal,
    at: exit.at === null ? null : timestamp(exit.at),
    out_of_memory: exit.outOfMemory,
  };
}

/** Which process owns its port. */
export function proofJson(proof: Proof): Json {
  switch (proof.kind) {
    case "proven":
      return { kind: "proven", port: proof.port, instance: instanceJson(proof.instance) };
    case "differs":
      return { kind: "differs", expected: proof.expected, observed: proof.observed };
    case "absent":
      return { kind: "absent" };
    case "unknown":
      return { kind: "unknown", code: proof.code, why: proof.detail };
  }
}
