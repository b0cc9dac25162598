/**
 * The fleet that is built: the reference shape with a second GPU host, in files as their owners would
 * write them. Runtimes are native and memory is one, since a container has no GPU of its own.
 *
 * @module
 */

import { HOST_IDS, type HostId } from "./rig.ts";

/** One engine of a host. */
export interface EngineSpec {
  readonly serve: string;
  readonly port: number;
  readonly model: string;
  readonly capability: string;
  readonly alias: string | null;
  readonly tier: string;
  readonly residency: "resident" | "evictable" | "on-demand";
  readonly mode?: string;
}

/** One host. */
export interface HostSpec {
  readonly id: HostId;
  /** Last number of its address. */
  readonly number: number;
  readonly roles: readonly string[];
  readonly availability: "continuous" | "opportunistic";
  readonly reserved?: string;
  /** Policy of its adopter; null: it adopts nothing. */
  readonly adopt: "rolling" | "stage-only" | "manual" | null;
  /** Without a model it has no router. */
  readonly engines: readonly EngineSpec[];
}

const chat = (model: string) => `example-org/${model}`;

/** The hosts, by id. */
export const SPECS: Readonly<Record<HostId, HostSpec>> = {
  "gateway": {
    id: "gateway",
    number: 10,
    roles: ["gateway", "operator", "proxy", "publisher"],
    availability: "continuous",
    adopt: null,
    engines: [],
  },
  "gpu-a": {
    id: "gpu-a",
    number: 11,
    roles: ["serving", "router"],
    availability: "continuous",
    adopt: "stage-only",
    engines: [
      {
        ...{ serve: "primary", port: 8001, model: chat("example-70b"), alias: "llm.primary" },
        ...{ capability: "llm.primary", tier: "primary", residency: "resident" },
      },
      {
        ...{ serve: "next", port: 8002, model: chat("example-80b"), alias: null },
        ...{ capability: "llm.primary", tier: "primary", residency: "on-demand" },
      },
    ],
  },
  "gpu-b": {
    id: "gpu-b",
    number: 12,
    roles: ["serving", "router", "qualification"],
    availability: "continuous",
    adopt: "rolling",
    engines: [
      {
        ...{ serve: "chat", port: 8001, model: chat("example-8b"), alias: "llm.candidate" },
        ...{ capability: "llm.candidate", tier: "chat", residency: "evictable" },
      },
      {
        ...{ serve: "studio", port: 8002, model: chat("example-video"), alias: "llm.studio" },
        ...{ capability: "llm.studio", tier: "studio", residency: "on-demand", mode: "studio" },
      },
    ],
  },
  "voice-a": {
    id: "voice-a",
    number: 13,
    roles: ["serving", "router", "voice"],
    availability: "continuous",
    reserved: "voice",
    adopt: "stage-only",
    engines: [{
      ...{ serve: "stt", port: 8001, model: chat("example-stt"), alias: "voice.stt" },
      ...{ capability: "voice.stt", tier: "stt", residency: "resident" },
    }],
  },
  "laptop": {
    id: "laptop",
    number: 14,
    roles: ["evaluation", "serving", "router"],
    availability: "opportunistic",
    adopt: "manual",
    engines: [{
      ...{ serve: "local", port: 8001, model: chat("example-3b"), alias: "llm.experiment" },
      ...{ capability: "llm.experiment", tier: "local", residency: "evictable" },
    }],
  },
};

/** Ports that are the same on every host. */
export const PORTS = { agent: 8765, data: 8080, admin: 8081, publisher: 8734 } as const;

/**
 * Where a host's agent may replace it: below /var/lib/anvil, the one place that it may write, in a
 * folder with nothing else, of which it tells as configuration.
 */
export const ROUTER_TOML = "/var/lib/anvil/config/router.toml";

/** MiB that each serve claims: a fixture needs less. */
const CLAIM_MIB = 512;

/** `10.213.7.11` of `10.213.7`. */
export function addressOf(subnet: string, id: HostId): string {
  return `${subnet}.${SPECS[id].number}`;
}

/** topology.toml; `keys` are the hosts' public keys, as `ssh-ed25519 AAAA…`. */
export function topologyToml(subnet: string, keys: ReadonlyMap<HostId, string>): string {
  const blocks = [
    "# Made by `make fleet`: the reference shape, in containers.\n\n" +
    'schema = 1\nfleet = "containers"\noperator = "gateway"\n',
  ];
  for (const id of HOST_IDS) {
    const { roles, availability, reserved, adopt, engines } = SPECS[id];
    blocks.push(
      `[hosts.${id}]\nos = "linux"\narch = "x64"\nroles = ${JSON.stringify(roles)}\n` +
        `address = "${addressOf(subnet, id)}"\n` +
        (engines.length === 0
          ? ""
          : 'runtime = "native"\nmemory = { model = "unified", budget_mib = 4096, os_reserve_mib = 512 }\n') +
        `availability = "${availability}"\n` +
        (reserved === undefined ? "" : `reserved = "${reserved}"\n`) +
        `adoption = { policy = "${adopt ?? "none"}", reboot = "never" }\n`,
    );
  }
  for (const id of HOST_IDS) {
    const address = addressOf(subnet, id);
    blocks.push(
      `[[transports]]\nhost = "${id}"\nkind = "agent"\nendpoint = "http://${address}:${PORTS.agent}"\n` +
        `expected_node = "${id}"\ntoken = "${id}"\n`,
    );
    const key = keys.get(id);
    if (id === "gateway" || key === undefined) continue;
    blocks.push(
      `[[transports]]\nhost = "${id}"\nkind = "ssh"\naddress = "${address}"\nuser = "anvil"\n` +
        `known_host = "${key}"\nexpected_node = "${id}"\nrecovery_capable = true\n`,
    );
  }
  blocks.push(
    '[capabilities."llm.primary"]\n' +
      'promoted = { host = "gpu-a", tier = "primary", evidence = "ev-fleet-primary" }\n',
    '[capabilities."voice.stt"]\n' +
      'promoted = { host = "voice-a", tier = "stt", evidence = "ev-fleet-stt" }\n',
    '[capabilities."llm.candidate"]\n',
    '[capabilities."llm.studio"]\n',
    '[capabilities."llm.experiment"]\n',
  );
  return blocks.join("\n");
}

/** The unit of a serve. */
export function unitOf({ serve }: EngineSpec): string {
  return `anvil-serve-${serve}.service`;
}

/** serves.toml. */
export function servesToml({ engines }: HostSpec): string {
  const blocks = engines.map((engine) => {
    const { serve, port, model, capability, tier, residency, mode } = engine;
    const argv = [
      ...["/opt/engine/deno", "run", "--no-config", "--no-lock", "--cached-only", "--quiet", "-A"],
      ...["/opt/engine/engine.js", "--port", `${port}`, "--model", model],
      ...["--folder", "/opt/engine/said"],
    ];
    return `[[serve]]\nname = "${serve}"\ncapability = "${capability}"\nruntime = "native"\n` +
      `port = ${port}\nmodel = { id = "${model}", revision = "0f1e2d3c4b5a69788796a5b4c3d2e1f0" }\n` +
      `engine = "vllm"\nmemory = { unified_mib = ${CLAIM_MIB} }\nresidency = "${residency}"\n` +
      (mode === undefined ? "" : `mode = "${mode}"\n`) +
      `tier = "${tier}"\nhealth = "/health"\nidentity = { kind = "openai-models" }\n` +
      `start_seconds = 60\nstop_grace_seconds = 10\ncwd = "/opt/engine"\n` +
      `supervisor = "systemd-user"\nunit = "${unitOf(engine)}"\nargv = ${JSON.stringify(argv)}\n`;
  });
  return `schema = 1\n\n${blocks.join("\n")}`;
}

/** router.toml; `primary` names the serve behind the tier where two could be. */
export function routerToml(subnet: string, spec: HostSpec, primary?: string): string {
  const { id, engines, reserved } = spec;
  const address = addressOf(subnet, id);
  const dialects = reserved === "voice"
    ? '["openai-transcriptions"]'
    : '["openai-chat", "openai-responses", "anthropic-messages"]';
  const named = engines.filter(({ alias }) => alias !== null);
  const tiers = named.map(({ serve, tier }) => {
    const engine = engines.find((one) => one.serve === primary && one.tier === tier) ??
      engines.find((one) => one.serve === serve);
    return `[[tiers]]\nid = "${tier}"\nserved_model = "${engine?.model}"\nengine = "vllm"\n` +
      `dialects = ${dialects}\nidentity = { kind = "openai-models" }\n` +
      `members = [{ id = "a", endpoint = "http://127.0.0.1:${engine?.port}" }]\n`;
  });
  return `schema = 1\nnode = "${id}"\n\n` +
    `[listen]\ndata = "${address}:${PORTS.data}"\nadmin = "127.0.0.1:${PORTS.admin}"\n\n` +
    '[auth]\nclients = "/var/lib/anvil/router/clients.toml"\n\n' +
    '[state]\ndir = "/var/lib/anvil/router/state"\n\n' +
    "[limits]\ndrain_seconds = 60\n\n[probes]\ninterval_ms = 500\n\n" +
    `${tiers.join("\n")}\n[aliases]\n` +
    named.map(({ alias, tier }) => `"${alias}" = "${tier}"\n`).join("");
}

/** agent.toml of a host that came up by bootstrap. */
export function agentToml(subnet: string, spec: HostSpec, fingerprint: string): string {
  const { id, roles, engines, adopt } = spec;
  const address = addressOf(subnet, id);
  return `schema = 1\nnode = "${id}"\nroles = ${JSON.stringify(roles)}\n` +
    `listen = "${address}:${PORTS.agent}"\nstate = "/var/lib/anvil/agent"\n` +
    `topology = "${fingerprint}"\n\n[auth]\nclients = "/var/lib/anvil/agent/clients.toml"\n` +
    (engines.length === 0 ? "" : `
[router]
admin = "http://127.0.0.1:${PORTS.admin}"
token_file = "/var/lib/anvil/router/agent.token"
config = "${ROUTER_TOML}"
supervisor = "systemd-user"
unit = "anvil-router.service"

[serves]
manifest = "serves.toml"
topology = "topology.toml"

[config]
roots = [".", "/var/lib/anvil/config"]
`) +
    (adopt === null ? "" : `
[adopter]
config = "adopter.toml"
outside = ["systemd-run", "--user", "--quiet", "--collect", "--wait", "--pipe", "--"]
`);
}

/** adopter.toml. */
export function adopterToml(subnet: string, { id, adopt }: HostSpec): string {
  const address = addressOf(subnet, id);
  return `schema = 1
host = "${id}"
backend = "bundle"
state = "/var/lib/anvil/adopter"
summary = "/var/lib/anvil/summary/adopter.json"
failures = "/var/lib/anvil/failures"

[publisher]
url = "http://${addressOf(subnet, "gateway")}:${PORTS.publisher}"
trust = "trust.json"
timeout_seconds = 5

[policy]
adopt = "${adopt}"

[verdict]
samples = 2
every_seconds = 2
window_seconds = 2
deadline_seconds = 90

[bundle]
store = "/opt/anvil"
supervisor = "systemd-user"
units = ["anvil-router.service", "anvil-agent.service"]

[[gates]]
name = "disk"
kind = "disk"
path = "/opt/anvil"

[[probes]]
name = "services"
kind = "unit"
units = ["anvil-router.service", "anvil-agent.service"]

[[probes]]
name = "router"
kind = "http-json"
address = "127.0.0.1:${PORTS.admin}"
target = "/v1/router/status"
token_file = "/var/lib/anvil/router/observer.token"
path = "draining"
value = false

[[probes]]
name = "agent"
kind = "tcp"
address = "${address}:${PORTS.agent}"
`;
}

/** receiver.toml. */
export function receiverToml(id: HostId): string {
  return `schema = 1\nnode = "${id}"\nbootstrap_authorized = true\nroot = "/opt/anvil"\n` +
    'state = "/var/lib/anvil/receiver"\nsupervisor = "systemd-user"\nunit = "anvil-agent.service"\n';
}

/** A unit of the account, which starts the role of whichever generation is current. */
export function roleUnit(role: "agent" | "router"): string {
  const config = role === "agent" ? "/etc/anvil/agent.toml" : ROUTER_TOML;
  return `[Unit]\nDescription=Anvil ${role} of the current generation\n\n[Service]\nType=exec\n` +
    `WorkingDirectory=/var/lib/anvil\nExecStart=/opt/anvil/anvil ${role} run ${config}\n` +
    "KillMode=mixed\nTimeoutStopSec=90\nRestart=always\nRestartSec=1\nUMask=0077\n" +
    "NoNewPrivileges=yes\n\n[Install]\nWantedBy=default.target\n";
}

/** publisher.toml. */
export function publisherToml(subnet: string): string {
  const hosts = HOST_IDS.filter((id) => SPECS[id].adopt !== null)
    .map((id) => `\n[[hosts]]\nid = "${id}"\nbackend = "bundle"\n`);
  return 'schema = 1\nroot = "/var/lib/anvil/publisher/published"\n' +
    'keys = "/var/lib/anvil/publisher/keys"\n' +
    `listen = "${addressOf(subnet, "gateway")}:${PORTS.publisher}"\n${hosts.join("")}`;
}
