/**
 * One signing key as a file: mode 0600, its private half gone once it is retired. Nothing here ever
 * prints one.
 *
 * @module
 */

import { z } from "zod";
import { readJson } from "../core/strict_json.ts";
import { fromBase64, KEY_ID_PATTERN, keyIdOf, momentShape } from "./keys.ts";

/** No key file is larger, in bytes. */
export const MOST_KEY_BYTES = 4096;

/** One key file. */
export const keyFileShape = z.strictObject({
  schema: z.literal(1),
  id: z.string().regex(KEY_ID_PATTERN),
  public: z.string(),
  /** PKCS #8 in base64; null once retired. */
  private: z.string().nullable(),
  created_at: momentShape,
  retired_at: momentShape.nullable(),
});

/** One key file. */
export type KeyFile = z.infer<typeof keyFileShape>;

/** A key nobody had before. */
export async function newKeyFile(created_at: string): Promise<KeyFile> {
  const pair = await crypto.subtle.generateKey("Ed25519", true, ["sign", "verify"]);
  const { publicKey, privateKey } = pair as CryptoKeyPair;
  const raw = new Uint8Array(await crypto.subtle.exportKey("raw", publicKey));
  const pkcs8 = new Uint8Array(await crypto.subtle.exportKey("pkcs8", privateKey));
  return {
    schema: 1,
    id: await keyIdOf(raw),
    public: raw.toBase64(),
    private: pkcs8.toBase64(),
    created_at,
    retired_at: null,
  };
}

/**
 * Reads one; null when it is none, or its halves do not belong together. `key` is null once it is
 * retired.
 */
export async function readKeyFile(
  bytes: Uint8Array,
): Promise<{ readonly record: KeyFile; readonly key: CryptoKey | null } | null> {
  const read = readJson(bytes, { bytes: MOST_KEY_BYTES, depth: 2, values: 16 });
  const record = read.kind === "ok" ? keyFileShape.safeParse(read.value).data : undefined;
  if (record === undefined) return null;
  const raw = fromBase64(record.public);
  if (raw === null || await keyIdOf(raw) !== record.id) return null;
  if (record.private === null) return record.retired_at === null ? null : { record, key: null };
  const pkcs8 = fromBase64(record.private);
  if (pkcs8 === null || record.retired_at !== null) return null;
  try {
    const key = await crypto.subtle.importKey("pkcs8", pkcs8, "Ed25519", false, ["sign"]);
    const verify = await crypto.subtle.importKey("raw", raw, "Ed25519", false, ["verify"]);
    const probe = new TextEncoder().encode("one key, two halves");
    const signature = await crypto.subtle.sign("Ed25519", key, probe);
    return await crypto.subtle.verify("Ed25519", verify, signature, probe) ? { record, key } : null;
  } catch {
    return null; // not a key; what the library says may quote it
  }
}
