/**
 * `publisher.toml`: text -> shape -> model, all problems at once.
 *
 * @module
 */

import { z } from "zod";
import { BACKENDS, CHANNEL_PATTERN } from "../../lib/adoption/envelope_payload.ts";
import { parseIpAndPort } from "../../lib/core/address.ts";
import { ID_PATTERN } from "../../lib/core/ids.ts";
import type { Checked, Problem } from "../../lib/core/problem.ts";
import { checkShape, fault } from "../../lib/document/shape.ts";
import { readToml } from "../../lib/document/toml.ts";

const whole = (least: number, most: number) => z.int().min(least).max(most);

const listener = z.string().transform((text, ctx) => {
  const parsed = parseIpAndPort(text);
  if (parsed !== null) return parsed;
  ctx.addIssue(fault("address_malformed", "expected a literal IP and a port, as 127.0.0.1:8734"));
  return z.NEVER;
});

const cacheUrl = z.string().max(512).regex(
  /^https?:\/\/[A-Za-z0-9.:[\]-]+(\/[A-Za-z0-9._~/-]*)?$/,
  "expected http:// or https://, without a user name, a query or a fragment",
);

const hostShape = z.strictObject({
  id: z.string().regex(ID_PATTERN, "expected lower-case letters, digits and `-`, a letter first")
    .describe("The host's id in the topology."),
  backend: z.enum(BACKENDS).describe("How the host puts a candidate in place."),
  channel: z.string().regex(CHANNEL_PATTERN).default("rolling").describe(
    "The host's adopter expects exactly this channel.",
  ),
  restart_sensitive: z.array(z.string().regex(/^[A-Za-z0-9:_.@\\-]{1,200}$/)).max(64).default([])
    .describe("Units that are not to be restarted merely because they moved."),
  build: z.array(z.string().min(1).max(1024)).min(1).max(64).optional().describe(
    "Program and arguments that build the host's candidate; `{host}` and `{result}` in them are " +
      "replaced. Without it `build-all` leaves the host out.",
  ),
  build_minutes: whole(1, 1440).default(120).describe("How long the build may take."),
});

/** The whole file. */
export const configShape = z.strictObject({
  schema: z.literal(1),
  root: z.string().min(1).describe("Folder of what is published; relative to this file."),
  keys: z.string().min(1).describe("Folder of the signing keys, mode 0700; relative to this file."),
  listen: listener.prefault("127.0.0.1:8734").describe("Where `serve` listens."),
  validity_hours: whole(1, 9600).default(168).describe(
    "How long a pointer is valid. Publishing again, also the same target, renews it.",
  ),
  lock_seconds: whole(0, 600).default(10).describe("How long to wait for another publisher."),
  nix: z.strictObject({
    cache: cacheUrl.describe("The binary cache that hosts fetch from."),
    cache_keys: z.array(
      z.string().regex(/^[A-Za-z0-9._-]{1,100}:[A-Za-z0-9+/]{43}=$/, "expected name:base64"),
    ).min(1).max(8).describe("Its public keys: each path must be signed by one of them."),
    most_paths: whole(1, 200_000).default(50_000).describe("Paths a closure may have."),
  }).optional(),
  serve: z.strictObject({
    connections: whole(1, 65_536).default(1024).describe(
      "Connections at once; one more is closed at once.",
    ),
    responses: whole(1, 4096).default(256).describe("Answers at once; more get status 503."),
    idle_seconds: whole(1, 600).default(30).describe("How long a connection may do nothing."),
    drain_seconds: whole(0, 600).default(10).describe("How long answers may go on after SIGTERM."),
  }).prefault({}),
  hosts: z.array(hostShape).min(1).max(1000),
});

/** `publisher.toml` with its defaults filled in. */
export type PublisherConfig = z.infer<typeof configShape>;
/** One host of it. */
export type HostConfig = PublisherConfig["hosts"][number];

/** Reads a config text. Paths in it are still as written: the caller knows where the file stands. */
export function readConfig(text: string): Checked<PublisherConfig> {
  const table = readToml(text);
  if (table.kind === "invalid") return table;
  const shaped = checkShape(configShape, table.model);
  const problems: Problem[] = shaped.kind === "invalid" ? [...shaped.problems] : [];
  // Looked at also when other parts have no shape: one run shows all there is to mend.
  const { hosts, nix } = table.model;
  if (Array.isArray(hosts)) {
    const ids = hosts.map((host: { readonly id?: unknown } | null) => host?.id);
    hosts.forEach((host: { readonly backend?: unknown } | null, index) => {
      if (typeof ids[index] === "string" && ids.indexOf(ids[index]) < index) {
        const path = `hosts[${index}].id`;
        problems.push({ path, code: "duplicate_host", message: "described already; remove one" });
      }
      if (host?.backend === "nixos" && nix === undefined) {
        const message = "a nixos host needs a `[nix]` section: its bytes live in a binary cache";
        problems.push({ path: `hosts[${index}].backend`, code: "cache_missing", message });
      }
    });
  }
  if (shaped.kind === "invalid" || problems.length > 0) return { kind: "invalid", problems };
  return shaped;
}
