/**
 * Keys, trust and signed candidates for tests.
 *
 * @module
 */

import { canonicalJson, type Json } from "../core/canonical_json.ts";
import type { Expectations, Floor } from "../adoption/envelope.ts";
import { envelopeText, preAuthentication } from "../adoption/envelope.ts";
import { type Payload, PAYLOAD_TYPE } from "../adoption/envelope_payload.ts";
import type { SigningKey } from "../adoption/envelope_sign.ts";
import { keyIdOf, readTrust, type Trust, trustText } from "../adoption/keys.ts";

/** A key pair of a test. */
export interface TestKey extends SigningKey {
  /** 32 bytes in base64. */
  readonly public: string;
}

/** 2026-09-01T00:00:00Z: when tests take place. */
export const TEST_NOW = Date.UTC(2026, 8, 1);

/** A fresh key pair. */
export async function testKey(): Promise<TestKey> {
  const pair = await crypto.subtle.generateKey("Ed25519", false, ["sign", "verify"]);
  const { publicKey, privateKey } = pair as CryptoKeyPair;
  const raw = new Uint8Array(await crypto.subtle.exportKey("raw", publicKey));
  return { id: await keyIdOf(raw), key: privateKey, public: raw.toBase64() };
}

/** Trust in these keys; `expiresAt` (ISO 8601) holds for all of them. */
export async function trustIn(
  keys: readonly TestKey[],
  expiresAt: string | null = null,
): Promise<Trust> {
  const text = trustText(keys.map(({ id, public: raw }) => ({
    id,
    public: raw,
    added_at: "2026-01-01T00:00:00Z",
    expires_at: expiresAt,
  })));
  const read = await readTrust(new TextEncoder().encode(text));
  if (read.kind === "refused") throw new Error(read.detail);
  return read.trust;
}

/** A good candidate for the bundle host `gpu-a`, issued an hour before {@link TEST_NOW}. */
export function candidate(
  change: Partial<Omit<Payload, "signed_by">> = {},
): Omit<Payload, "signed_by"> {
  return {
    schema: 2,
    host: "gpu-a",
    backend: "bundle",
    channel: "rolling",
    sequence: 7,
    issued_at: "2026-08-31T23:00:00.000Z",
    expires_at: "2026-09-07T23:00:00.000Z",
    built_at: "2026-08-31T22:00:00.000Z",
    rev: { id: "0123abcd", dirty: false, committed_at: "2026-08-31T20:00:00.000Z" },
    target: { kind: "bundle", digest: `sha256:${"ab".repeat(32)}`, manifest_size: 120 },
    sizes: { download: 1000, unpacked: 2000 },
    requires_reboot: false,
    restart_sensitive: [],
    allow_downgrade_from: [],
    withdrawn: [],
    ...change,
  };
}

/** What the host `gpu-a` expects at {@link TEST_NOW}. */
export function expectations(
  change: Partial<Expectations> = {},
  floor: Floor | null = null,
): Expectations {
  return {
    host: "gpu-a",
    backend: "bundle",
    channel: "rolling",
    floor,
    now: TEST_NOW,
    builtAt: Date.UTC(2026, 0, 1),
    ...change,
  };
}

/** Signs any JSON as a payload of any type: what no publisher of ours would do. */
export async function signAnything(
  payload: Json,
  keys: readonly TestKey[],
  type: string = PAYLOAD_TYPE,
  text: string = canonicalJson(payload),
): Promise<Uint8Array<ArrayBuffer>> {
  const body = new TextEncoder().encode(text);
  const signed = preAuthentication(type, body);
  const signatures = await Promise.all(keys.map(async ({ id, key }) => ({
    keyid: id,
    sig: new Uint8Array(await crypto.subtle.sign("Ed25519", key, signed)).toBase64(),
  })));
  const envelope = { payload: body.toBase64(), payloadType: type, signatures };
  return new TextEncoder().encode(envelopeText(envelope));
}
