/**
 * The plan of one bootstrap: everything that was observed and will be relied on, as data a person can
 * read, and its digest. Applying resolves all of it again and compares.
 *
 * @module
 */

import * as z from "zod";
import { canonicalJson } from "../core/canonical_json.ts";
import { ID_PATTERN } from "../core/ids.ts";
import { type Refusal, refuse } from "../core/refusal.ts";
import type { BootstrapCode } from "./codes.ts";

/** SHA-256 in lower-case hex. */
export const sha256Shape = z.string().regex(/^[0-9a-f]{64}$/);
/** A node's id. */
export const nodeShape = z.string().regex(ID_PATTERN);
/** Who restarts the agent on the host. */
export const supervisorShape = z.enum(["systemd-user", "windows-task"]);
/** What the host is. */
export const platformShape = z.strictObject({
  os: z.enum(["linux", "windows"]),
  arch: z.enum(["x64", "arm64"]),
});

/** A plan. */
export const planShape = z.strictObject({
  schema: z.literal(1),
  /** `host:<id>`, one. */
  target: z.string().regex(/^host:[a-z][a-z0-9-]{0,62}$/),
  topology_fingerprint: sha256Shape,
  expected_node: nodeShape,
  bundle: z.strictObject({
    manifest_digest: sha256Shape,
    /** Bytes of the archive. */
    length: z.int().min(1),
    build_digest: sha256Shape,
    version: z.string().min(1).max(64),
  }),
  receiver: z.strictObject({
    build_digest: sha256Shape,
    /** Of its target configuration. */
    config_digest: sha256Shape,
    /** Of the roots it stages and installs under: they are the host's, and never named. */
    roots_digest: sha256Shape,
  }),
  /** What is current now, and would be gone back to; null: nothing that can be. */
  prior: z.strictObject({
    manifest_digest: sha256Shape,
    build_digest: sha256Shape,
    version: z.string().min(1).max(64),
  }).nullable(),
  platform: platformShape,
  supervisor: supervisorShape,
  /** The host's own word, and the operator's choice to go by the receiver. */
  flags: z.strictObject({ bootstrap_authorized: z.boolean(), recover_via_ssh: z.boolean() }),
  /** What the new agent has to answer. */
  expected: z.strictObject({ protocol: z.int().min(1), catalogue_digest: sha256Shape }),
});

/** A plan. */
export type Plan = z.infer<typeof planShape>;

/** The plan's name, lower-case hex. */
export function planSha256(sha256: (text: string) => Uint8Array, plan: Plan): string {
  return sha256(canonicalJson(plan)).toHex();
}

/** What a difference in a part of the plan is called. */
const DRIFT = {
  schema: "precondition_failed",
  target: "topology_drift",
  topology_fingerprint: "topology_drift",
  expected_node: "wrong_node",
  bundle: "digest_mismatch",
  receiver: "receiver_mismatch",
  prior: "precondition_failed",
  platform: "receiver_mismatch",
  supervisor: "receiver_mismatch",
  flags: "precondition_failed",
  expected: "precondition_failed",
} as const satisfies Readonly<Record<keyof Plan, BootstrapCode>>;

/** Null when what is resolved now is what was planned; compared immediately before staging. */
export function refuseDrift(planned: Plan, now: Plan): Refusal<BootstrapCode> | null {
  for (const [part, code] of Object.entries(DRIFT) as [keyof Plan, BootstrapCode][]) {
    if (canonicalJson(planned[part]) === canonicalJson(now[part])) continue;
    return refuse(
      code,
      `\`${part}\` is not as it was planned`,
      "look at a new plan, then apply that",
    );
  }
  return null;
}

/** Null when a plan may be applied: what only the host's owner and the operator can say. */
export function refuseUnauthorized({ flags }: Plan): Refusal<BootstrapCode> | null {
  return flags.bootstrap_authorized ? null : refuse(
    "not_authorized",
    "the host does not allow to be bootstrapped",
    "set bootstrap_authorized = true in the receiver's own configuration on that host",
  );
}
