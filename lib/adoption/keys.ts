/**
 * Which keys a host believes: the trust file. Public keys only, each named by what it is.
 *
 *     { "schema": 1, "keys": [{ "id", "public", "added_at", "expires_at" }] }
 *
 * @module
 */

import { z } from "zod";
import { canonicalJson, type Json } from "../core/canonical_json.ts";
import { type Refusal, refuse } from "../core/refusal.ts";
import { readJson } from "../core/strict_json.ts";

/** How a key is called: `ed25519-` and the first 32 hex digits of the SHA-256 of its 32 bytes. */
export const KEY_ID_PATTERN = /^ed25519-[0-9a-f]{32}$/;

/** Keys one trust file may hold; a rotation needs two. */
export const MOST_KEYS = 16;

/** No trust file is larger, in bytes. */
export const MOST_TRUST_BYTES = 64 * 1024;

/** A moment, as ISO 8601 in UTC, to the second or the millisecond. */
export const momentShape: z.ZodType<string> = z.iso.datetime().regex(
  /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(\.\d{3})?Z$/,
  "expected ISO 8601 in UTC, as 2026-01-31T08:00:00Z",
);

/** One public key as it stands in a trust file. */
export const trustedKeyShape = z.strictObject({
  id: z.string().regex(KEY_ID_PATTERN),
  public: z.string().regex(/^[A-Za-z0-9+/]{43}=$/, "expected 32 bytes in base64")
    .describe("The Ed25519 public key: 32 bytes in base64."),
  added_at: momentShape.describe("When this host was told of the key."),
  expires_at: momentShape.nullable().describe("From then on nothing signed by it is believed."),
});

/** The whole trust file. */
export const trustShape = z.strictObject({
  schema: z.literal(1),
  keys: z.array(trustedKeyShape).min(1).max(MOST_KEYS),
});

/** A trust file as text says it. */
export type TrustFile = z.infer<typeof trustShape>;

/** One key that is believed, ready to verify with. */
export interface TrustedKey {
  readonly id: string;
  readonly key: CryptoKey;
  /** Milliseconds since the epoch; null: until it is removed. */
  readonly expiresAt: number | null;
}

/** Every key a host believes, by id. */
export type Trust = ReadonlyMap<string, TrustedKey>;

/** Why a trust file is not read. */
export type TrustFault =
  | "trust_malformed" // not strict JSON, or not this shape
  | "trust_duplicate_key" // one key twice
  | "trust_key_id_wrong" // an id that does not belong to its key
  | "trust_key_unusable"; // 32 bytes that are no Ed25519 key

/** What reading gave. */
export type TrustRead = { readonly kind: "ok"; readonly trust: Trust } | Refusal<TrustFault>;

/** The id of a public key of 32 bytes. */
export async function keyIdOf(raw: Uint8Array<ArrayBuffer>): Promise<string> {
  const digest = new Uint8Array(await crypto.subtle.digest("SHA-256", raw));
  return `ed25519-${digest.toHex().slice(0, 32)}`;
}

/** The bytes of strict base64: padded, and with no spelling but the one; null otherwise. */
export function fromBase64(text: string): Uint8Array<ArrayBuffer> | null {
  try {
    const bytes = Uint8Array.fromBase64(text, { lastChunkHandling: "strict" });
    return bytes.toBase64() === text ? bytes : null;
  } catch {
    return null;
  }
}

/** Reads a trust file; one fault refuses all of it. */
export async function readTrust(bytes: Uint8Array): Promise<TrustRead> {
  const read = readJson(bytes, { bytes: MOST_TRUST_BYTES, depth: 8, values: 1024 });
  if (read.kind === "refused") return refuse("trust_malformed", read.detail, MEND);
  const shaped = trustShape.safeParse(read.value);
  if (!shaped.success) {
    return refuse("trust_malformed", firstIssue(shaped.error), MEND);
  }
  const trust = new Map<string, TrustedKey>();
  for (const one of shaped.data.keys) {
    if (trust.has(one.id)) return refuse("trust_duplicate_key", `observed ${one.id} twice`, MEND);
    const raw = fromBase64(one.public);
    if (raw === null || await keyIdOf(raw) !== one.id) {
      return refuse("trust_key_id_wrong", `observed another key under the id ${one.id}`, MEND);
    }
    const key = await importPublic(raw);
    if (key === null) return refuse("trust_key_unusable", `${one.id} is no Ed25519 key`, MEND);
    const expiresAt = one.expires_at === null ? null : Date.parse(one.expires_at);
    trust.set(one.id, { id: one.id, key, expiresAt });
  }
  return { kind: "ok", trust };
}

const MEND = "copy the trust file from the publisher again: `anvil-publisher keys list --trust`";

/** The text of a trust file, keys in the order of their ids. */
export function trustText(keys: readonly TrustFile["keys"][number][]): string {
  const sorted = keys.toSorted((left, right) => left.id < right.id ? -1 : 1);
  return `${canonicalJson({ schema: 1, keys: sorted } as Json)}\n`;
}

async function importPublic(raw: Uint8Array<ArrayBuffer>): Promise<CryptoKey | null> {
  try {
    return await crypto.subtle.importKey("raw", raw, "Ed25519", true, ["verify"]);
  } catch {
    return null;
  }
}

/** Where the first fault of a shape is and what it is; quotes no value. */
export function firstIssue(error: z.ZodError): string {
  const issue = error.issues[0];
  const path = issue === undefined || issue.path.length === 0 ? "$" : issue.path.join(".");
  return `${path}: ${issue?.message ?? "not the expected shape"}`;
}
