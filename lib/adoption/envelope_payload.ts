/**
 * What a publisher signs: one immutable candidate for one host. Strict and bounded; nothing in it is
 * looked at before its signature is good.
 *
 * `built_at` and `requires_reboot` come from the seed's own manifest. `requires_reboot` is what the
 * build host believes: the host compares with what it booted, and that decides.
 *
 * @module
 */

import { z } from "zod";
import { ID_PATTERN } from "../core/ids.ts";
import { KEY_ID_PATTERN, momentShape, MOST_KEYS } from "./keys.ts";

/** Says what the signed bytes are; part of what is signed. */
export const PAYLOAD_TYPE = "application/vnd.anvil.candidate.v2+json";

/** How a candidate is put in place. */
export const BACKENDS = ["nixos", "bundle"] as const;

/** `nixos`: a system closure. `bundle`: a directory tree. */
export type Backend = typeof BACKENDS[number];

/** A Nix store path itself, not a file in it. */
export const STORE_PATH_PATTERN =
  /^\/nix\/store\/[0-9abcdfghijklmnpqrsvwxyz]{32}-[A-Za-z0-9+._?=-]{1,211}$/;

/** A SHA-256 in the spelling of subresource integrity, as Nix prints it. */
export const NAR_HASH_PATTERN = /^sha256-[A-Za-z0-9+/]{43}=$/;

/** The digest of a bundle's manifest. */
export const BUNDLE_DIGEST_PATTERN = /^sha256:[0-9a-f]{64}$/;

/** What a source revision may be called: a hash, or a pinned reference as `github:o/r/<hash>`. */
export const REV_PATTERN = /^[A-Za-z0-9][A-Za-z0-9:/._+@-]{0,255}$/;

/** What a channel may be called. */
export const CHANNEL_PATTERN = ID_PATTERN;

const UNIT_PATTERN = /^[A-Za-z0-9:_.@\\-]{1,200}$/;

/** The most targets one envelope withdraws. */
export const MOST_WITHDRAWN = 256;

/** The longest an envelope may claim to be valid, in milliseconds: 400 days. */
export const LONGEST_VALIDITY_MS = 400 * 24 * 3600 * 1000;

const targetId = z.string().refine(
  (text) => STORE_PATH_PATTERN.test(text) || BUNDLE_DIGEST_PATTERN.test(text),
  "expected a store path, or sha256: and 64 hex digits",
);

/** What the host ends up with. */
export const targetShape = z.discriminatedUnion("kind", [
  z.strictObject({
    kind: z.literal("store-path"),
    store_path: z.string().regex(STORE_PATH_PATTERN),
    nar_hash: z.string().regex(NAR_HASH_PATTERN),
  }),
  z.strictObject({
    kind: z.literal("bundle"),
    digest: z.string().regex(BUNDLE_DIGEST_PATTERN)
      .describe("SHA-256 of the bundle's manifest; the blob of that digest is the manifest."),
    manifest_size: z.int().min(2).max(16 * 1024 * 1024).describe("Bytes of the manifest."),
  }),
]);

/** What a candidate is made of. */
export type Target = z.infer<typeof targetShape>;

/** What the signed bytes say. */
export const payloadShape = z.strictObject({
  schema: z.literal(2),
  host: z.string().regex(ID_PATTERN),
  backend: z.enum(BACKENDS),
  channel: z.string().regex(CHANNEL_PATTERN),
  sequence: z.int().min(1).describe("Grows with everything ever signed for this host and channel."),
  issued_at: momentShape,
  expires_at: momentShape,
  built_at: momentShape,
  rev: z.strictObject({
    id: z.string().regex(REV_PATTERN),
    dirty: z.boolean(),
    committed_at: momentShape,
  }),
  target: targetShape,
  sizes: z.strictObject({
    download: z.int().min(0).describe("Bytes over the network, with nothing there yet."),
    unpacked: z.int().min(0).describe("Bytes on the disk, with nothing there yet."),
  }),
  requires_reboot: z.boolean(),
  restart_sensitive: z.array(z.string().regex(UNIT_PATTERN)).max(64)
    .describe("Units that are not to be restarted merely because they moved."),
  allow_downgrade_from: z.array(z.string().regex(REV_PATTERN)).max(64)
    .describe("Newer revisions from which a step back to this one is meant."),
  withdrawn: z.array(targetId).max(MOST_WITHDRAWN)
    .describe("Targets that are offered no longer, the newest last; its own among them: no offer."),
  signed_by: z.array(z.string().regex(KEY_ID_PATTERN)).min(1).max(MOST_KEYS)
    .describe("The keys whose signatures the envelope carries, all of them and no other."),
});

/** One candidate. */
export type Payload = z.infer<typeof payloadShape>;

/** How a target is named in `withdrawn`, in receipts and on the command line. */
export function targetIdOf(target: Target): string {
  return target.kind === "store-path" ? target.store_path : target.digest;
}

/** What the shape alone does not say; null when all is in order. Times are no facts of a clock. */
export function payloadContradiction(payload: Payload): string | null {
  const fits = payload.target.kind === (payload.backend === "nixos" ? "store-path" : "bundle");
  if (!fits) return `a target of kind ${payload.target.kind} does not fit ${payload.backend}`;
  const issued = Date.parse(payload.issued_at);
  const expires = Date.parse(payload.expires_at);
  if (expires <= issued) return "it expires before it is issued";
  if (expires - issued > LONGEST_VALIDITY_MS) return "it is valid for more than 400 days";
  for (const key of ["signed_by", "withdrawn"] as const) {
    if (new Set(payload[key]).size !== payload[key].length) return `${key} names one twice`;
  }
  return null;
}
