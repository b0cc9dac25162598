/**
 * The shape of `router.toml`: one zod schema, from which the JSON Schema for editors is made too.
 *
 * @module
 */

import { z } from "zod";
import { ID_PATTERN } from "../../lib/core/ids.ts";
import { fault } from "../../lib/document/shape.ts";
import { AGENT_KIND } from "../../lib/identity/agent_proof.ts";
import { IDENTITY_KINDS } from "../../lib/identity/kinds.ts";
import { parseListener, parseMemberEndpoint } from "./address.ts";
import { DIALECTS } from "../../lib/relay/dialect.ts";

const id = z.string().regex(
  ID_PATTERN,
  "expected lower-case letters, digits and `-`, a letter first",
);
// Goes into requests, forms and tables as it is.
const name = z.string().min(1).max(256).regex(/^\P{Cc}*$/u, "expected no control characters");
const whole = (least: number, most: number) => z.int().min(least).max(most);

const listener = z.string().transform((text, ctx) => {
  const parsed = parseListener(text);
  if (parsed === null) {
    ctx.addIssue(fault("address_malformed", "expected a literal IP and a port, as 127.0.0.1:8080"));
    return z.NEVER;
  }
  return parsed;
});

const memberEndpoint = z.string().transform((text, ctx) => {
  const parsed = parseMemberEndpoint(text);
  if (parsed.kind === "refused") {
    ctx.addIssue(fault(parsed.code, parsed.detail));
    return z.NEVER;
  }
  return parsed.endpoint;
});

const member = z.strictObject({
  id: id.describe("Unique in its tier."),
  endpoint: memberEndpoint.describe("http:// and a literal IP with a port; no path."),
});

/** One `[[tiers]]` table. */
export const tierShape = z.strictObject({
  id: id.describe("What aliases name."),
  served_model: name.describe(
    "The model name the members are asked for and must prove they serve.",
  ),
  dialects: z.array(z.enum(DIALECTS)).min(1).describe("What clients may speak to this tier."),
  identity: z.strictObject({
    kind: z.enum([...IDENTITY_KINDS, AGENT_KIND]).describe(
      "How a member proves which model it serves now; `agent`: by the process that owns its port.",
    ),
    agent: memberEndpoint.optional().describe(
      "Kind `agent` only: the agent of the members' host, http:// and a literal IP with a port.",
    ),
    token_file: z.string().min(1).optional().describe(
      "Kind `agent` only: file of the agent's token for this router, mode 0600, relative to this file.",
    ),
  }),
  members: z.array(member).min(1).max(16).describe("Equivalent endpoints on one host."),
  revision: name.optional(),
  engine: name.optional(),
  engine_version: name.optional(),
  image_digest: name.optional(),
  config_digest: name.optional(),
  host: id.optional().describe("Another declared host that serves this tier; needs `address`."),
  address: z.string().optional().describe(
    "That host's literal IP; every member's endpoint is on it.",
  ),
  context_tokens: whole(1, 100_000_000).optional(),
  max_output_tokens: whole(1, 100_000_000).optional(),
  tools: z.boolean().default(true),
  media: z.array(z.enum(["image", "audio", "video", "file"])).default([]),
  admission: z.strictObject({
    in_flight: whole(1, 4096).default(8),
    queue: whole(0, 65_536).default(16),
    queue_seconds: whole(0, 3600).default(30),
  }).prefault({}),
  heartbeat_seconds: whole(1, 3600).optional().describe(
    "After so much silence in a stream, a comment keeps the connection alive; never when absent.",
  ),
  timeouts: z.strictObject({
    connect_ms: whole(10, 60_000).default(2000),
    first_byte_seconds: whole(1, 86_400).default(600),
    idle_seconds: whole(1, 86_400).default(120),
  }).prefault({}),
});

/** The whole file. */
export const configShape = z.strictObject({
  schema: z.literal(1),
  node: id.describe("This host's id in the topology."),
  listen: z.strictObject({
    data: listener.describe("Where clients ask."),
    admin: listener.describe(
      "Where health, status and transitions are; answers while data drains.",
    ),
    reuse_port: z.boolean().default(false).describe(
      "Lets the next router listen beside this one, for a restart that loses nothing; Linux only.",
    ),
  }),
  auth: z.strictObject({
    clients: z.string().min(1).optional().describe(
      "File of hashed client tokens, mode 0600, relative to this file.",
    ),
    allow_unauthenticated_loopback: z.boolean().default(false),
  }),
  limits: z.strictObject({
    body_mib: whole(1, 1024).default(64).describe("Largest request body."),
    buffered_mib: whole(1, 65_536).default(512).describe(
      "Request bytes held at once, over all requests.",
    ),
    head_seconds: whole(1, 3600).default(30).describe(
      "How long a client may take from its connection, or a request's first byte, to the end of the head.",
    ),
    idle_seconds: whole(1, 86_400).default(75).describe(
      "How long a connection is kept between two requests.",
    ),
    body_seconds: whole(1, 3600).default(60).describe("How long a client may take to send a body."),
    stall_seconds: whole(1, 86_400).default(300).describe(
      "How long a client may stop reading its answer.",
    ),
    requests: whole(1, 65_536).default(1024).describe(
      "Requests open at once, waiting ones included.",
    ),
    drain_seconds: whole(0, 3600).default(120).describe(
      "How long running requests may go on after SIGTERM.",
    ),
  }).prefault({}),
  probes: z.strictObject({
    interval_ms: whole(100, 60_000).default(2000),
    timeout_ms: whole(50, 60_000).default(2000),
  }).prefault({}),
  state: z.strictObject({
    dir: z.string().min(1).describe("Decision log and intent file; relative to this file."),
  }).optional(),
  tiers: z.array(tierShape).min(1).max(256),
  aliases: z.record(z.string().min(1).max(256), z.string()).describe(
    "Model name a client sends -> tier id.",
  )
    .default({}),
});

/** `router.toml` with its defaults filled in. */
export type RouterConfig = z.infer<typeof configShape>;

/** One tier of it. */
export type TierConfig = z.infer<typeof tierShape>;
