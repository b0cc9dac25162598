/**
 * Signatures over a document, in a file of their own beside it: who vouches for it may come later, and
 * may be several. The keys, the trust file and the encoding are those of candidates (decision 0100).
 *
 *     { "digest", "payloadType", "signatures": [{ "keyid", "sig" }] }
 *
 * @module
 */

import { z } from "zod";
import { preAuthentication } from "../adoption/envelope.ts";
import type { SigningKey } from "../adoption/envelope_sign.ts";
import { firstIssue, fromBase64, KEY_ID_PATTERN, MOST_KEYS, type Trust } from "../adoption/keys.ts";
import { canonicalJson, type Json } from "../core/canonical_json.ts";
import { type Refusal, refuse } from "../core/refusal.ts";
import { readJson } from "../core/strict_json.ts";
import { digestOf } from "./evidence.ts";
import { digestShape } from "./evidence_shape.ts";

/** Says what the signed bytes are; part of what is signed, so that no other signature fits. */
export const EVIDENCE_PAYLOAD_TYPE = "application/vnd.anvil.evidence.v1+json";

/** No file of signatures is larger, in bytes. */
export const MOST_SIGNATURE_BYTES = 16 * 1024;

/** Why signatures are not believed. */
export type SignatureFault =
  | "signature_malformed" // not strict JSON of this shape, in its one spelling
  | "signature_of_other" // over another document
  | "signature_wrong" // a key that is trusted did not sign these bytes
  | "signature_too_many" // it would be more than a file holds
  | "signature_key_unknown" // by keys nobody here trusts
  | "signature_key_expired"; // by keys that are no longer trusted, and by no other

/** The file. */
export const signatureShape = z.strictObject({
  digest: digestShape.describe("Of the document's bytes."),
  payloadType: z.literal(EVIDENCE_PAYLOAD_TYPE),
  signatures: z.array(z.strictObject({
    keyid: z.string().regex(KEY_ID_PATTERN),
    sig: z.string().max(128),
  })).min(1).max(MOST_KEYS),
});

/** Who vouches. */
export interface Verified {
  readonly kind: "verified";
  /** Ids of trusted keys that signed. */
  readonly by: readonly string[];
}

/**
 * Signs `document` with every key; the bytes of the file beside it. What others signed in `before`, the
 * file that is there, stays; a file that is none of this document gives its refusal.
 */
export async function signEvidence(
  document: Uint8Array<ArrayBuffer>,
  keys: readonly SigningKey[],
  before: Uint8Array | null = null,
): Promise<Uint8Array<ArrayBuffer> | Refusal<SignatureFault>> {
  const there = before === null ? null : await readSignature(document, before);
  if (there !== null && "kind" in there) return there;
  const signed = preAuthentication(EVIDENCE_PAYLOAD_TYPE, document);
  const ours = new Set(keys.map(({ id }) => id));
  const kept = there?.signatures.filter(({ keyid }) => !ours.has(keyid)) ?? [];
  const made = await Promise.all(keys.map(async ({ id, key }) => ({
    keyid: id,
    sig: new Uint8Array(await crypto.subtle.sign("Ed25519", key, signed)).toBase64(),
  })));
  const signatures = [...kept, ...made].toSorted((left, right) =>
    left.keyid < right.keyid ? -1 : 1
  );
  if (signatures.length > MOST_KEYS) {
    return refuse("signature_too_many", `expected at most ${MOST_KEYS}`, "leave it at those");
  }
  const file = signatureShape.parse({
    digest: await digestOf(document),
    payloadType: EVIDENCE_PAYLOAD_TYPE,
    signatures,
  });
  return new TextEncoder().encode(`${canonicalJson(file as Json)}\n`);
}

/**
 * The keys that a file of signatures over the document `digest` names; none when it is not readable, or
 * is over another. Whether they are good is not checked.
 */
export function signersOf(signature: Uint8Array, digest: string): readonly string[] {
  const read = readJson(signature, { bytes: MOST_SIGNATURE_BYTES, depth: 4, values: 256 });
  const shaped = read.kind === "ok" ? signatureShape.safeParse(read.value) : null;
  if (shaped?.success !== true || shaped.data.digest !== digest) return [];
  return shaped.data.signatures.map(({ keyid }) => keyid);
}

/**
 * Checks the file beside `document`. Each signature of a key that is trusted has to be good, or none
 * counts; `now` is in milliseconds since the epoch.
 */
export async function verifySignature(
  document: Uint8Array<ArrayBuffer>,
  signature: Uint8Array,
  trust: Trust,
  now: number,
): Promise<Verified | Refusal<SignatureFault>> {
  const file = await readSignature(document, signature);
  if ("kind" in file) return file;
  const signed = preAuthentication(file.payloadType, document);
  const by: string[] = [];
  let expired = 0;
  for (const { keyid, sig } of file.signatures) {
    const known = trust.get(keyid);
    if (known === undefined) continue;
    const bytes = fromBase64(sig);
    if (bytes === null || !await crypto.subtle.verify("Ed25519", known.key, bytes, signed)) {
      return refuse("signature_wrong", `the bytes are not what ${keyid} signed`, AGAIN);
    }
    if (known.expiresAt !== null && known.expiresAt <= now) expired++;
    else by.push(keyid);
  }
  if (by.length > 0) return { kind: "verified", by };
  return expired > 0
    ? refuse("signature_key_expired", "every trusted key that signed has expired", TRUST)
    : refuse("signature_key_unknown", "no key that signed is in the trust file", TRUST);
}

/** The file beside `document`, read strictly; no signature is checked yet. */
async function readSignature(
  document: Uint8Array<ArrayBuffer>,
  signature: Uint8Array,
): Promise<z.infer<typeof signatureShape> | Refusal<SignatureFault>> {
  const read = readJson(signature, { bytes: MOST_SIGNATURE_BYTES, depth: 4, values: 256 });
  if (read.kind === "refused") return refuse("signature_malformed", read.detail, AGAIN);
  const shaped = signatureShape.safeParse(read.value);
  if (!shaped.success) return refuse("signature_malformed", firstIssue(shaped.error), AGAIN);
  const file = shaped.data;
  const text = `${canonicalJson(file as Json)}\n`;
  if (new TextDecoder().decode(signature) !== text) {
    return refuse("signature_malformed", "observed another spelling than canonical JSON", AGAIN);
  }
  if (new Set(file.signatures.map(({ keyid }) => keyid)).size !== file.signatures.length) {
    return refuse("signature_malformed", "observed two signatures by one key", AGAIN);
  }
  if (file.digest !== await digestOf(document)) {
    return refuse("signature_of_other", "the signatures are over another document", AGAIN);
  }
  return file;
}

const AGAIN = "fetch document and signature again from whoever signed it";
const TRUST = "name the trust file that holds the key of whoever signed it";
