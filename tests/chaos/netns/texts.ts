/**
 * The configuration of a walk's hosts, gateway and publisher.
 *
 * @module
 */

import { createHash } from "node:crypto";
import { stringify } from "smol-toml";
import { adopterToml } from "../../support/adopter_rig.ts";
import { ALIASES, MODELS, PORTS, unitOf } from "../fleet.ts";
import type { Address } from "./network.ts";

/** Who may ask, with tokens made for one walk. */
export interface Secrets {
  readonly client: string;
  readonly observer: string;
  /** The agent's, for its router. */
  readonly admin: string;
  /** The gateway's, for agents. */
  readonly operator: string;
}

const sha256 = (text: string) => createHash("sha256").update(text).digest("hex");
const token = (name: string, secret: string) => [{
  id: `tk-${name}`,
  sha256: sha256(secret),
  created_at: "2026-01-01T00:00:00Z",
}];

/** `clients.toml` of a router. */
export function routerClients(secrets: Secrets): string {
  return stringify({
    schema: 1,
    clients: [
      { name: "client", scopes: ["infer"], tokens: token("client", secrets.client) },
      { name: "observer", scopes: ["observe"], tokens: token("observer", secrets.observer) },
      { name: "agent", scopes: ["observe", "admin"], tokens: token("agent", secrets.admin) },
    ],
  });
}

/** `clients.toml` of an agent. */
export function agentClients(secrets: Secrets): string {
  return stringify({
    schema: 1,
    clients: [
      { name: "gateway", scopes: ["*"], tokens: token("gateway", secrets.operator) },
      { name: "watch", scopes: ["node.*:read"], tokens: token("watch", "unused") },
    ],
  });
}

/** `router.toml`; `next`: the primary tier has its next model. */
export function routerText(host: string, next: boolean): string {
  const tier = (id: string, program: keyof typeof MODELS) => ({
    id,
    served_model: MODELS[program],
    dialects: ["openai-chat", "anthropic-messages"],
    identity: { kind: "openai-models" },
    members: [{ id: program, endpoint: `http://127.0.0.1:${PORTS[program]}` }],
    admission: { in_flight: 8, queue: 8, queue_seconds: 5 },
    timeouts: { connect_ms: 1000, first_byte_seconds: 20, idle_seconds: 20 },
  });
  return stringify({
    schema: 1,
    node: host,
    listen: { data: `0.0.0.0:${PORTS.data}`, admin: `0.0.0.0:${PORTS.admin}` },
    auth: { clients: "clients.toml" },
    limits: { drain_seconds: 10 },
    probes: { interval_ms: 500, timeout_ms: 1000 },
    state: { dir: "router" },
    tiers: [
      tier("primary", next ? "next" : "chat"),
      tier("embed", "embed"),
      tier("video", "studio"),
    ],
    aliases: ALIASES,
  });
}

/** `topology.toml` of the fleet. */
export function topologyText(gateway: Address, hosts: readonly Address[]): string {
  const plain = { os: "linux", arch: "x64", availability: "continuous" };
  return stringify({
    schema: 1,
    fleet: "chaos",
    operator: gateway.name,
    hosts: {
      [gateway.name]: { ...plain, roles: ["gateway", "operator"], address: gateway.ip },
      ...Object.fromEntries(hosts.map(({ name, ip }) => [name, {
        ...plain,
        roles: ["serving", "router"],
        address: ip,
        runtime: "native",
        memory: { model: "unified", budget_mib: 4096, os_reserve_mib: 64 },
      }])),
    },
    transports: [gateway, ...hosts].map(({ name, ip }) => ({
      host: name,
      kind: "agent",
      endpoint: `http://${ip}:${PORTS.agent}`,
      expected_node: name,
      token: name,
    })),
  });
}

/** A serve, as its unit runs it. */
export interface ServeFacts {
  readonly name: "chat" | "next" | "embed" | "studio";
  readonly argv: readonly string[];
}

/** `serves.toml`. */
export function servesText(host: string, cwd: string, serves: readonly ServeFacts[]): string {
  const more = {
    chat: { capability: "llm.primary", tier: "primary", residency: "evictable" },
    next: { capability: "llm.primary", tier: "primary", residency: "on-demand" },
    embed: { capability: "llm.embed", tier: "embed", residency: "resident" },
    studio: { capability: "video", tier: "video", residency: "on-demand", mode: "studio" },
  } as const;
  return stringify({
    schema: 1,
    serve: serves.map(({ name, argv }) => ({
      name,
      runtime: "native",
      argv: [...argv],
      cwd,
      supervisor: "systemd-system",
      unit: unitOf(host, name),
      engine: "vllm",
      health: "/v1/models",
      identity: { kind: "openai-models" },
      stop_grace_seconds: 5,
      port: PORTS[name],
      model: { id: MODELS[name], revision: "1" },
      memory: { unified_mib: 512 },
      ...more[name],
    })),
  });
}

/** `agent.toml`. */
export function agentText(host: string): string {
  return stringify({
    schema: 1,
    node: host,
    roles: ["serving", "router"],
    listen: `0.0.0.0:${PORTS.agent}`,
    state: "disk/agent",
    auth: { clients: "disk/agent-clients.toml" },
    router: {
      admin: `http://127.0.0.1:${PORTS.admin}`,
      token_file: "router.token",
      config: "disk/router.toml",
      unit: unitOf(host, "router"),
    },
    serves: { manifest: "serves.toml", topology: "topology.toml" },
    adopter: { config: "adopter.toml" },
    limits: { drain_seconds: 5, mutations: 16 },
  });
}

/** `adopter.toml`. */
export function adopterText(folder: string, host: string, publisher: Address): string {
  const text = adopterToml(folder, `http://${publisher.ip}:${PORTS.publisher}`, host)
    .replace(`${folder}/state"`, `${folder}/disk/adopter"`)
    .replace(`${folder}/store"`, `${folder}/disk/store"`)
    .replace(`${folder}/status.json`, `${folder}/summary/status.json`)
    .replace("window_seconds = 0\n", "window_seconds = 3\n")
    .replace("deadline_seconds = 3\n", "deadline_seconds = 30\n");
  return ["gate", "probe"].reduce(
    (all, name) => all.replace(/argv = \["\/bin\/sh".*\]/, `argv = ["${folder}/${name}"]`),
    text,
  );
}

/** `publisher.toml`. */
export function publisherText(hosts: readonly string[], address: Address): string {
  return stringify({
    schema: 1,
    root: "published",
    keys: "keys",
    listen: `${address.ip}:${PORTS.publisher}`,
    hosts: hosts.map((id) => ({ id, backend: "bundle" })),
  });
}
