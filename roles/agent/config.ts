/**
 * `agent.toml`: text -> shape -> model, all problems at once.
 *
 * @module
 */

import { z } from "zod";
import { isLoopback, parseIpAndPort, parseOrigin } from "../../lib/core/address.ts";
import { ID_PATTERN } from "../../lib/core/ids.ts";
import type { Checked, Problem } from "../../lib/core/problem.ts";
import { checkShape, fault } from "../../lib/document/shape.ts";
import { readToml } from "../../lib/document/toml.ts";
import { ROUTER_SUPERVISORS } from "../../lib/serves/machines/router_program.ts";
import { IDENTITY_KINDS } from "../../lib/identity/kinds.ts";
import { textShape } from "../../lib/evidence/evidence_shape.ts";
import { RESOURCE_ROLES } from "../../lib/topology/vocabulary.ts";

const whole = (least: number, most: number) => z.int().min(least).max(most);

const listener = z.string().transform((text, ctx) => {
  const parsed = parseIpAndPort(text);
  if (parsed !== null) return parsed;
  ctx.addIssue(fault("address_malformed", "expected a literal IP and a port, as 127.0.0.1:8766"));
  return z.NEVER;
});

const loopbackOrigin = z.string().transform((text, ctx) => {
  const parsed = parseOrigin(text);
  if (parsed.kind === "refused") {
    ctx.addIssue(fault(parsed.code, parsed.detail));
  } else if (parsed.origin.scheme !== "http" || !isLoopback(parsed.origin.hostname)) {
    ctx.addIssue(
      fault(
        "router_off_loopback",
        "expected http:// and a loopback address: a router of this host",
      ),
    );
  } else return { hostname: parsed.origin.hostname, port: parsed.origin.port };
  return z.NEVER;
});

const dockerSocket = z.string().transform((text, ctx) => {
  const path = text.replace(/^unix:\/\//, "");
  if (/^\//.test(path)) return path;
  ctx.addIssue(
    fault("docker_remote", "expected the path of a unix socket: an engine elsewhere is never used"),
  );
  return z.NEVER;
});

const benchmarkMember = z.strictObject({
  name: z.string().regex(ID_PATTERN).describe("What `benchmarks.run` calls it; no serve's name."),
  port: whole(1, 65_535).describe("Where the engine listens on 127.0.0.1."),
  model: z.strictObject({
    id: textShape(256).describe("The model, as its publisher names it."),
    revision: textShape(128).describe("Exactly which one."),
    quantization: textShape(64).optional(),
  }),
  served_model: textShape(256).optional().describe(
    "What the engine calls it, where that is not `model.id`.",
  ),
  engine: textShape(64).describe("As vllm, mlx-lm, llama-server."),
  engine_version: textShape(128).optional(),
  health: z.string().max(256).regex(/^\/[\x21-\x7e]*$/, "expected a path, as /health")
    .default("/v1/models").describe("Answered with 200 once the model is loaded."),
  identity: z.strictObject({
    kind: z.enum(IDENTITY_KINDS).describe("How the engine proves what it serves."),
  }),
});

const benchmarks = z.strictObject({
  topology: z.string().min(1).optional().describe(
    "The installed view of the topology, relative to this file; the one of `[serves]` when absent.",
  ),
  router: z.strictObject({
    data: loopbackOrigin.describe("The data listener of the router on this host."),
    key_file: z.string().min(1).describe(
      "File with a router token of scope `infer` that belongs to benchmarks alone, mode 0600, " +
        "relative to this file.",
    ),
  }).optional().describe(
    "Lets benchmarks ask the router as a client of its own; needs `[router]`.",
  ),
  members: z.array(benchmarkMember).max(64).default([]).describe(
    "Engines on this host that no serve declares, for hosts without a serves.toml.",
  ),
});

/** The whole file. */
export const configShape = z.strictObject({
  schema: z.literal(1),
  node: z.string().regex(ID_PATTERN, "expected lower-case letters, digits and `-`, a letter first")
    .describe("This host's id in the topology."),
  roles: z.array(z.enum(RESOURCE_ROLES)).max(16).describe(
    "This host's roles in the topology: they decide which operations there are.",
  ),
  listen: listener.describe("Where operators ask; a literal IP and a port."),
  state: z.string().min(1).describe("Folder of the ledger and the audit; relative to this file."),
  topology: z.string().regex(/^[0-9a-f]{64}$/, "expected 64 lower-case hex digits").optional()
    .describe("Fingerprint of the topology this host was set up from; runs are bound to it."),
  auth: z.strictObject({
    clients: z.string().min(1).optional().describe(
      "File of hashed client tokens, mode 0600, relative to this file. Without it only loopback, " +
        "and only with --allow-unauthenticated-loopback.",
    ),
  }).prefault({}),
  router: z.strictObject({
    admin: loopbackOrigin.describe("The admin listener of the router on this host."),
    token_file: z.string().min(1).optional().describe(
      "File with a router token, mode 0600, relative to this file: of scope `observe` to look, " +
        "and `admin` for transitions and changes.",
    ),
    config: z.string().min(1).optional().describe(
      "The router.toml this agent may replace, relative to this file; needs `unit`.",
    ),
    program: z.array(z.string().min(1).max(1024)).min(1).max(64).default(["anvil-router"])
      .describe("The installed router and its leading arguments: it judges configurations."),
    supervisor: z.enum(ROUTER_SUPERVISORS).default("systemd").describe(
      "What restarts the router.",
    ),
    unit: z.string().max(256).regex(
      /^[A-Za-z0-9][A-Za-z0-9:_.@\/-]*$/,
      "expected the name of a unit or job",
    ).optional().describe("The router's unit, as anvil-router.service; needs `config`."),
  }).optional(),
  config: z.strictObject({
    roots: z.array(z.string().min(1)).min(1).max(8).default(["."]).describe(
      "Folders whose configuration files `config.*` tells of; relative to this file.",
    ),
  }).prefault({}),
  serves: z.strictObject({
    manifest: z.string().min(1).describe("This host's serves.toml, relative to this file."),
    topology: z.string().min(1).describe(
      "The installed view of the topology, relative to this file.",
    ),
    router: z.string().min(1).optional().describe(
      "This host's router.toml, relative to this file: serves are held against its tiers.",
    ),
    docker_socket: dockerSocket.default("/run/docker.sock").describe(
      "The unix socket of the engine on this host, `/run/docker.sock` when absent; nothing remote.",
    ),
  }).optional().describe("What this host serves; without it there is nothing to start."),
  adopter: z.strictObject({
    config: z.string().min(1).default("adopter.toml").describe(
      "The adopter's configuration, relative to this file.",
    ),
    program: z.array(z.string().min(1).max(1024)).min(1).max(64).default(["anvil-adopter"])
      .describe("The installed adopter and its leading arguments."),
    outside: z.array(z.string().min(1).max(1024)).max(64)
      .default(["systemd-run", "--quiet", "--collect", "--wait", "--pipe", "--"]).describe(
        "What starts an adoption outside of the agent's own unit, so that a restart of the agent " +
          "does not end it; empty where nothing restarts the agent.",
      ),
  }).optional().describe(
    "For a host whose adoption policy is not `none`; without it there is no `candidates.*`.",
  ),
  benchmarks: benchmarks.optional().describe(
    "What may be measured besides the serves of this host.",
  ),
  limits: z.strictObject({
    reads: whole(1, 1024).default(32).describe("Reads and dry runs at once."),
    mutations: whole(1, 64).default(4).describe("Live mutations at once."),
    body_seconds: whole(1, 600).default(10).describe("How long a client may take to send a body."),
    drain_seconds: whole(0, 3600).default(30).describe(
      "How long running operations may go on after SIGTERM.",
    ),
    audit_mib: whole(1, 4096).default(64).describe("Size at which an audit file is full."),
    audit_files: whole(1, 1000).default(16).describe(
      "Full audit files that are kept; beyond them the oldest goes, on record.",
    ),
  }).prefault({}),
});

/** `agent.toml` with its defaults filled in. */
export type AgentConfig = z.infer<typeof configShape>;

/** Reads a config text. Paths in it are still as written: the caller knows where the file stands. */
export function readConfig(text: string): Checked<AgentConfig> {
  const table = readToml(text);
  if (table.kind === "invalid") return table;
  const shaped = checkShape(configShape, table.model);
  const problems: Problem[] = shaped.kind === "invalid" ? [...shaped.problems] : [];
  // Looked at also when other parts have no shape: one run shows all there is to mend.
  const { listen, auth, roles, router } = table.model;
  problems.push(...loneKeys(router));
  const at = typeof listen === "string" ? parseIpAndPort(listen) : null;
  const written = typeof auth === "object" && auth !== null && "clients" in auth;
  if (at !== null && !written && !isLoopback(at.hostname)) {
    problems.push({
      path: "auth.clients",
      code: "unauthenticated_off_loopback",
      message: "without a clients file only loopback may be listened on; " +
        "make one with `anvil-agent tokens add`",
    });
  }
  if (Array.isArray(roles)) {
    roles.forEach((role, index) => {
      if (roles.indexOf(role) < index) {
        const message = "listed already; remove it";
        problems.push({ path: `roles[${index}]`, code: "duplicate_role", message });
      }
    });
  }
  if (shaped.kind === "invalid" || problems.length > 0) return { kind: "invalid", problems };
  return shaped;
}

/** A configuration that may be replaced but not restarted, or the other way round. */
function loneKeys(router: unknown): Problem[] {
  if (typeof router !== "object" || router === null) return [];
  const has = (key: string) => Object.hasOwn(router, key);
  if (has("config") === has("unit")) return [];
  const [there, missing] = has("config") ? ["config", "unit"] : ["unit", "config"];
  return [{
    path: `router.${missing}`,
    code: "missing",
    message: `required with \`${there}\`: what is written must be restarted too`,
  }];
}
