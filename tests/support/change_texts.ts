/**
 * `serves.toml` and `router.toml` of a host on which changes are tried. `chat` and `chat-next`
 * compete for one device, `studio` is an exclusive mode, `embed` is somebody else's.
 *
 * @module
 */

import { freePort } from "./free_port.ts";

/** Where everything of it listens. */
export interface ChangePorts {
  readonly chat: number;
  readonly next: number;
  readonly embed: number;
  readonly studio: number;
  readonly data: number;
  readonly admin: number;
}

/** For a host in memory. */
export const FAKE_PORTS: ChangePorts = {
  chat: 8001,
  next: 8002,
  embed: 8003,
  studio: 8004,
  data: 8080,
  admin: 8081,
};

/** Ports nobody listens on right now. */
export function freePorts(): ChangePorts {
  const ports = new Set<number>();
  while (ports.size < 6) ports.add(freePort());
  const [chat = 0, next = 0, embed = 0, studio = 0, data = 0, admin = 0] = ports;
  return { chat, next, embed, studio, data, admin };
}

function serve(name: string, lines: string): string {
  return `
[[serve]]
name = "${name}"
runtime = "native"
argv = ["/opt/engine", "--port", "1"]
cwd = "/opt"
supervisor = "systemd-system"
unit = "anvil-${name}.service"
engine = "vllm"
health = "/health"
identity = { kind = "openai-models" }
stop_grace_seconds = 5
${lines}
`;
}

/** The manifest. */
export function manifestText({ chat, next, embed, studio }: ChangePorts): string {
  return "schema = 1\n" +
    serve(
      "chat",
      `capability = "llm.primary"\nport = ${chat}\ntier = "primary"\nresidency = "evictable"
model = { id = "org/model", revision = "1" }\nmemory = { device = "gpu-0", mib = 60000 }`,
    ) +
    serve(
      "chat-next",
      `capability = "llm.primary"\nport = ${next}\ntier = "primary"\nresidency = "on-demand"
model = { id = "org/model-next", revision = "2" }\nmemory = { device = "gpu-0", mib = 70000 }`,
    ) +
    serve(
      "studio",
      `capability = "video"\nport = ${studio}\ntier = "video"\nresidency = "on-demand"
mode = "studio"\nmodel = { id = "org/video", revision = "1" }
memory = { device = "gpu-0", mib = 80000 }`,
    ) +
    serve(
      "embed",
      `capability = "llm.embed"\nport = ${embed}\ntier = "embed"\nresidency = "resident"
model = { id = "org/embed", revision = "1" }\nmemory = { device = "gpu-1", mib = 8000 }`,
    );
}

function tier(id: string, model: string, port: number): string {
  return `
[[tiers]]
id = "${id}"
served_model = "${model}"
dialects = ["openai-chat"]
identity = { kind = "openai-models" }
members = [{ id = "a", endpoint = "http://127.0.0.1:${port}" }]
`;
}

/** The router's file: `llm.primary` means org/model, or the next one. */
export function routerText(ports: ChangePorts, primary: "chat" | "next"): string {
  const model = primary === "chat" ? "org/model" : "org/model-next";
  return `schema = 1
node = "gpu-a"
[listen]
data = "127.0.0.1:${ports.data}"
admin = "127.0.0.1:${ports.admin}"
[auth]
clients = "clients.toml"
[limits]
drain_seconds = 20
[probes]
interval_ms = 100
timeout_ms = 1000
[state]
dir = "state"
` + tier("primary", model, ports[primary]) +
    tier("embed", "org/embed", ports.embed) +
    tier("video", "org/video", ports.studio) + `
[aliases]
"llm.primary" = "primary"
"llm.embed" = "embed"
"video.make" = "video"
`;
}
