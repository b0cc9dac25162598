/**
 * What may be measured on this host, by name: a serve of its manifest, an engine that agent.toml
 * declares, an alias of its router. Each proves what it serves before anything is asked of it.
 *
 * @module
 */

import { canonicalJson } from "../../../lib/core/canonical_json.ts";
import { hex } from "../../../lib/core/ids.ts";
import type { Refusal } from "../../../lib/core/refusal.ts";
import { sha256 } from "../../../lib/host/digest.ts";
import { httpProbe } from "../../../lib/serves/http_probe.ts";
import { servedModel } from "../../../lib/serves/manifest_shape.ts";
import type { Probed } from "../../../lib/serves/probe.ts";
import { aliasTarget } from "./alias_target.ts";
import type { Door } from "./ask.ts";
import {
  plain,
  subjectOf,
  type Target,
  type TargetAsk,
  type TargetPorts,
  targetUnknown,
  unproven,
} from "./target.ts";

/** Finds `ask`; says why it cannot be measured. */
export async function findTarget(
  ports: TargetPorts,
  ask: TargetAsk,
  signal: AbortSignal,
): Promise<Target | Refusal> {
  switch (ask.kind) {
    case "serve":
      return await serveTarget(ports, ask.name);
    case "member":
      return memberTarget(ports, ask.name);
    case "alias":
      return await aliasTarget(ports, ask.name, signal);
  }
}

async function serveTarget(ports: TargetPorts, name: string): Promise<Target | Refusal> {
  const host = await ports.openServes();
  if ("code" in host) return host;
  const serve = host.serves.find((one) => one.name === name);
  if (serve === undefined) {
    const known = host.serves.map((one) => one.name).join(", ") || "none";
    return targetUnknown(`serves.toml declares no ${name}; it has ${known}`);
  }
  const driver = host.driverOf(serve);
  if ("code" in driver) return driver;
  return {
    door: { ...doorAt(serve.port), model: servedModel(serve) },
    subject: subjectOf(serve),
    through: { kind: "member", serve: name, tier: serve.tier },
    prove: async (signal) => {
      const proof = await driver.identity(serve, signal);
      if (proof.kind === "proven") return unfit(name, await host.probe(serve, signal));
      const observed = proof.kind === "absent"
        ? "nobody listens on its port"
        : proof.kind === "differs"
        ? proof.observed
        : proof.detail;
      return unproven(name, observed);
    },
  };
}

function memberTarget({ config, upstream, clock }: TargetPorts, name: string): Target | Refusal {
  const members = config.benchmarks?.members ?? [];
  const member = members.find((one) => one.name === name);
  if (member === undefined) {
    const known = members.map((one) => one.name).join(", ") || "none";
    return targetUnknown(`agent.toml declares no benchmark member ${name}; it has ${known}`);
  }
  const { model, served_model, engine, engine_version, port, health, identity } = member;
  const served = served_model ?? model.id;
  const probe = httpProbe(upstream, clock);
  return {
    door: { ...doorAt(port), model: served },
    subject: {
      model: model.id,
      revision: model.revision,
      quantization: model.quantization ?? null,
      served_model: served,
      engine,
      engine_version: engine_version ?? null,
      image_digest: null,
      config_digest: hex(sha256(canonicalJson(plain(member)))),
    },
    through: { kind: "member", serve: name, tier: null },
    prove: async (signal) =>
      unfit(name, await probe({ port, health, identity, model, served_model: served }, signal)),
  };
}

function doorAt(port: number): Omit<Door, "model"> {
  return { endpoint: { hostname: "127.0.0.1", port }, key: null, tier: null };
}

function unfit(name: string, probed: Probed): Refusal | null {
  switch (probed.kind) {
    case "ready":
      return null;
    case "not_ready":
    case "unparseable":
      return unproven(name, probed.observed);
    case "mismatch":
      return unproven(name, `it serves ${probed.observed}, expected ${probed.expected}`);
  }
}
