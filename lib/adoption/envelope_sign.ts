/**
 * Signs a candidate with every key in use.
 *
 * @module
 */

import { canonicalJson, type Json } from "../core/canonical_json.ts";
import { envelopeText, MOST_ENVELOPE_BYTES, preAuthentication } from "./envelope.ts";
import {
  type Payload,
  PAYLOAD_TYPE,
  payloadContradiction,
  payloadShape,
} from "./envelope_payload.ts";

/** A key that signs. It cannot be exported, and has no text form. */
export interface SigningKey {
  readonly id: string;
  readonly key: CryptoKey;
}

/**
 * The bytes of an envelope. Throws on a payload that {@link verifyEnvelope} would not take for what it
 * is: whoever asks to sign one has a bug.
 */
export async function signEnvelope(
  candidate: Omit<Payload, "signed_by">,
  keys: readonly SigningKey[],
): Promise<Uint8Array<ArrayBuffer>> {
  const ids = keys.map(({ id }) => id).toSorted();
  const payload = payloadShape.parse({ ...candidate, signed_by: ids });
  const contradiction = payloadContradiction(payload);
  if (contradiction !== null) throw new TypeError(`a payload nobody would take: ${contradiction}`);
  const body = new TextEncoder().encode(canonicalJson(payload as Json));
  const signed = preAuthentication(PAYLOAD_TYPE, body);
  const signatures = await Promise.all(
    keys.toSorted((left, right) => left.id < right.id ? -1 : 1).map(async ({ id, key }) => ({
      keyid: id,
      sig: new Uint8Array(await crypto.subtle.sign("Ed25519", key, signed)).toBase64(),
    })),
  );
  const text = envelopeText({ payload: body.toBase64(), payloadType: PAYLOAD_TYPE, signatures });
  const bytes = new TextEncoder().encode(text);
  if (bytes.length > MOST_ENVELOPE_BYTES) throw new TypeError("an envelope nobody would read");
  return bytes;
}
