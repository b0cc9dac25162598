/**
 * The manifest hosts were offered before there were envelopes, for migration: plain JSON, and its
 * signature in a file beside it.
 *
 *     { "schema": 1, "host", "rev", "store_path", "built_at", "channel", "requires_reboot" }
 *
 * It has no sequence and no expiry: `built_at` stands for the one, and nothing for the other, so a
 * freeze cannot be told. A host takes it only while it is told to.
 *
 * @module
 */

import { z } from "zod";
import { timestamp } from "../core/clock.ts";
import { ID_PATTERN } from "../core/ids.ts";
import { type Refusal, refuse } from "../core/refusal.ts";
import { readJson } from "../core/strict_json.ts";
import { CLOCK_SKEW_MS, type EnvelopeFault } from "./envelope.ts";
import { REV_PATTERN, STORE_PATH_PATTERN } from "./envelope_payload.ts";
import { firstIssue, fromBase64, momentShape, type Trust } from "./keys.ts";

/** No manifest of schema 1 is larger, in bytes. */
export const MOST_SCHEMA1_BYTES = 16 * 1024;

/** The manifest. */
export const schema1Shape = z.strictObject({
  schema: z.literal(1),
  host: z.string().regex(ID_PATTERN),
  rev: z.string().regex(REV_PATTERN),
  store_path: z.string().regex(STORE_PATH_PATTERN),
  built_at: momentShape,
  channel: z.string().regex(ID_PATTERN),
  requires_reboot: z.boolean(),
});

/** What a host knows before it looks. */
export interface Schema1Expectations {
  readonly host: string;
  readonly channel: string;
  /** The newest `built_at` that was verified, in milliseconds since the epoch; null: none yet. */
  readonly floorBuiltAt: number | null;
  /** Milliseconds since the epoch. */
  readonly now: number;
}

/** A candidate of schema 1 that may be believed, freshness apart. */
export interface Schema1Offer {
  readonly kind: "schema-1-offer";
  readonly manifest: z.infer<typeof schema1Shape>;
  /** The floor from now on. */
  readonly floorBuiltAt: number;
  readonly verifiedBy: string;
}

/**
 * Verifies a manifest against its detached signature: 64 bytes in base64, a newline or none, with
 * `<key id>:` before it or not. Without an id every believed key is tried.
 */
export async function verifySchema1(
  manifest: Uint8Array<ArrayBuffer>,
  detached: Uint8Array,
  trust: Trust,
  expected: Schema1Expectations,
): Promise<Schema1Offer | Refusal<EnvelopeFault>> {
  if (manifest.length > MOST_SCHEMA1_BYTES || detached.length > 1024) {
    return refuse("envelope_too_large", `expected at most ${MOST_SCHEMA1_BYTES} bytes`);
  }
  const verifiedBy = await signerOf(manifest, detached, trust, expected.now);
  if (typeof verifiedBy !== "string") return verifiedBy;
  const read = readJson(manifest, { bytes: MOST_SCHEMA1_BYTES, depth: 2, values: 32 });
  if (read.kind === "refused") {
    const code = read.code === "json_duplicate_key" ? "duplicate_key" : "payload_malformed";
    return refuse(code, read.detail);
  }
  const shaped = schema1Shape.safeParse(read.value);
  if (!shaped.success) return refuse("payload_malformed", firstIssue(shaped.error));
  const offered = shaped.data;
  for (const key of ["host", "channel"] as const) {
    if (offered[key] !== expected[key]) {
      const detail = `observed ${key} ${offered[key]}, expected ${expected[key]}`;
      return refuse(`wrong_${key}`, detail);
    }
  }
  const builtAt = Date.parse(offered.built_at);
  if (expected.floorBuiltAt !== null && builtAt < expected.floorBuiltAt) {
    const known = timestamp(expected.floorBuiltAt);
    return refuse("replayed", `built at ${offered.built_at}, and one of ${known} was seen before`);
  }
  if (builtAt > expected.now + CLOCK_SKEW_MS) {
    return refuse("not_yet_valid", `built at ${offered.built_at}, after this host's now`);
  }
  return { kind: "schema-1-offer", manifest: offered, floorBuiltAt: builtAt, verifiedBy };
}

async function signerOf(
  manifest: Uint8Array<ArrayBuffer>,
  detached: Uint8Array,
  trust: Trust,
  now: number,
): Promise<string | Refusal<EnvelopeFault>> {
  const text = new TextDecoder().decode(detached).replace(/\n$/, "");
  const [, id, encoded = ""] = /^(?:([^:]+):)?([^:]*)$/.exec(text) ?? [];
  const signature = fromBase64(encoded);
  if (signature?.length !== 64) {
    return refuse("envelope_malformed", "the signature: expected 64 bytes in base64");
  }
  const named = id === undefined ? [...trust.values()] : [trust.get(id)].filter((one) => !!one);
  if (named.length === 0) {
    return refuse("key_unknown", "the key that signed is not in this host's trust file");
  }
  for (const known of named) {
    if (!await crypto.subtle.verify("Ed25519", known.key, signature, manifest)) continue;
    return known.expiresAt === null || now < known.expiresAt
      ? known.id
      : refuse("key_expired", `${known.id} signed, and has expired`);
  }
  return refuse("signature_wrong", "the bytes are not what any believed key signed");
}
