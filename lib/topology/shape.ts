/**
 * The shape of `topology.toml`: one zod schema, from which the JSON Schema for editors is made too.
 *
 * Nothing has a default: the model is what the file declares, and so is its fingerprint.
 *
 * @module
 */

import * as z from "zod";
import { parseMachineAddress, parseOrigin } from "../core/address.ts";
import { ID_PATTERN } from "../core/ids.ts";
import type { Refusal } from "../core/refusal.ts";
import { fault } from "../document/shape.ts";
import {
  ADOPTION_POLICIES,
  ARCHES,
  AVAILABILITIES,
  CAPABILITY_PATTERN,
  OSES,
  REBOOT_POLICIES,
  RESOURCE_ROLES,
  RUNTIMES,
} from "./vocabulary.ts";

/** A declared id. */
export const idShape = z.string().regex(
  ID_PATTERN,
  "expected lower-case letters, digits and `-`, a letter first",
);
/** The name of a capability. */
export const capabilityName = z.string().regex(
  CAPABILITY_PATTERN,
  "expected ids joined by dots, as llm.primary",
);
const mib = (least: number) => z.int().min(least).max(1_073_741_824);

/** A text that `read` understands; what it refuses becomes a problem with its code. */
function readAs(read: (text: string) => { readonly kind: "ok" } | Refusal) {
  return z.string().max(256).superRefine((text, ctx) => {
    const outcome = read(text);
    if (outcome.kind === "refused") ctx.addIssue(fault(outcome.code, outcome.detail));
  });
}

const machineAddress = readAs(parseMachineAddress);

/** One device of a discrete memory. */
export const deviceShape = z.strictObject({
  id: idShape.describe("Unique on its host."),
  uuid: z.string().max(128).regex(/^[A-Za-z0-9][A-Za-z0-9:._-]*$/, "expected a device identity")
    .describe("The vendor's identity of this device, as GPU-…; unique in the fleet."),
  memory_mib: mib(1).describe("Memory of the device."),
  reserve_mib: mib(0).describe("What serves leave free on it."),
});

const unifiedMemory = z.strictObject({
  model: z.literal("unified"),
  budget_mib: mib(1).describe("What serves may take of the host's memory."),
  os_reserve_mib: mib(1).describe("What must stay for the operating system."),
  memory_mib: mib(1).optional().describe(
    "All memory of the host; when given, budget and reserve must fit into it.",
  ),
});

const memory = z.discriminatedUnion("model", [
  z.strictObject({
    model: z.literal("discrete"),
    devices: z.array(deviceShape).min(1).max(64).describe("Devices with memory of their own."),
  }),
  unifiedMemory,
]);

/** What rules look at in a memory of either model, besides its devices. */
export const memoryFields = unifiedMemory.omit({ model: true }).extend({
  model: z.enum(["discrete", "unified"]),
});

/** One `[hosts.<id>]` table. */
export const hostShape = z.strictObject({
  os: z.enum(OSES),
  arch: z.enum(ARCHES),
  roles: z.array(z.enum(RESOURCE_ROLES)).max(RESOURCE_ROLES.length * 2).describe(
    "Resource roles this host owns; each once. Other hosts may own them too.",
  ),
  address: machineAddress.describe("Literal IP; never a name."),
  runtime: z.enum(RUNTIMES).optional().describe("Runtime class; absent: the host is model-free."),
  memory: memory.optional().describe("Memory model; required with a runtime."),
  availability: z.enum(AVAILABILITIES),
  reserved: capabilityName.optional().describe(
    "The one capability this host's resources serve, with all that is below it.",
  ),
  adoption: z.strictObject({
    policy: z.enum(ADOPTION_POLICIES),
    reboot: z.enum(REBOOT_POLICIES).optional(),
  }).optional().describe("How this host takes up new software."),
});

/** How the operator reaches the agent of a host. */
const agentTransport = z.strictObject({
  host: idShape,
  kind: z.literal("agent"),
  endpoint: readAs(parseOrigin).describe("http:// or https:// and a literal IP with a port."),
  expected_node: idShape.describe("The node that must answer there: the transport's host."),
  token: idShape.describe("Name in the operator's token store; never the token itself."),
});

/** Bootstrap and recovery only. */
const sshTransport = z.strictObject({
  host: idShape,
  kind: z.literal("ssh"),
  address: machineAddress,
  port: z.int().min(1).max(65_535).optional().describe("22 when absent."),
  user: z.string().regex(/^[a-z_][a-z0-9_-]{0,31}$/, "expected a user name"),
  known_host: z.string().max(4096).regex(
    /^(ssh-ed25519|ssh-rsa|ecdsa-sha2-nistp(256|384|521)|sk-[a-z0-9-]+@openssh\.com) [A-Za-z0-9+/]{16,}={0,2}$/,
    "expected the host's public key itself, as `ssh-ed25519 AAAA…`",
  ),
  expected_node: idShape.optional().describe("The node that must answer: the transport's host."),
  recovery_capable: z.boolean().optional().describe(
    "True when the explicit recovery flag may use it.",
  ),
});

/** One `[[transports]]` table. */
export const transportShape = z.discriminatedUnion("kind", [agentTransport, sshTransport]);

/** What rules look at in a transport of either kind. */
export const transportFields = z.object({
  host: idShape,
  kind: z.enum(["agent", "ssh"]),
  endpoint: agentTransport.shape.endpoint,
  expected_node: idShape,
});

/** A `promoted` table. */
export const promotedShape = z.strictObject({
  host: idShape,
  tier: idShape,
  evidence: z.string().regex(
    /^ev-[A-Za-z0-9][A-Za-z0-9._-]{0,127}$/,
    "expected the name of an evidence record, as ev-…",
  ),
});

/** One `[capabilities."<name>"]` table. */
export const capabilityShape = z.strictObject({ promoted: promotedShape.optional() });

/** The whole file. */
export const fleetShape = z.strictObject({
  schema: z.literal(1),
  fleet: idShape.describe("The fleet's name."),
  operator: idShape.describe("The host that operates the fleet."),
  command_host: idShape.optional().describe("Only in a host's derived view: the host it is for."),
  command_runtime: z.enum(RUNTIMES).optional().describe(
    "Only in a host's derived view: what commands run in there.",
  ),
  hosts: z.record(idShape, hostShape),
  transports: z.array(transportShape).optional(),
  capabilities: z.record(capabilityName, capabilityShape).optional(),
});

/** A described fleet. */
export type Fleet = z.infer<typeof fleetShape>;
/** One host of it. */
export type Host = z.infer<typeof hostShape>;
/** How a host is reached. */
export type Transport = z.infer<typeof transportShape>;
/** The normal way. */
export type AgentTransport = z.infer<typeof agentTransport>;
/** The way of bootstrap and recovery. */
export type SshTransport = z.infer<typeof sshTransport>;
