/**
 * DSSE: a payload type, payload bytes, signatures by key id. From bytes of a stranger to an offer, or
 * to the name of what is wrong.
 *
 *     bytes ─ bounded ─ strict JSON ─ one spelling ─ signatures ─ payload ─ for us? ─ new? ─ in time?
 *
 * Nothing of the payload is looked at before a signature over it is good. Every byte counts: an
 * envelope has one spelling, and the keys that sign are part of what is signed, so a flipped byte
 * anywhere is refused, apart from the signature of a key this host does not know.
 *
 * @module
 */

import { z } from "zod";
import { canonicalJson, type Json } from "../core/canonical_json.ts";
import { timestamp } from "../core/clock.ts";
import { type Refusal, refuse } from "../core/refusal.ts";
import { readJson } from "../core/strict_json.ts";
import {
  type Backend,
  type Payload,
  PAYLOAD_TYPE,
  payloadContradiction,
  payloadShape,
  targetIdOf,
} from "./envelope_payload.ts";
import { firstIssue, fromBase64, KEY_ID_PATTERN, MOST_KEYS, type Trust } from "./keys.ts";

/** No envelope is larger, in bytes: a fetch stops there. */
export const MOST_ENVELOPE_BYTES = 256 * 1024;

/** How far a publisher's clock may be ahead of ours, in milliseconds. */
export const CLOCK_SKEW_MS = 5 * 60_000;

/** Why an envelope is no offer. */
export type EnvelopeFault =
  | "envelope_too_large" // more bytes than an envelope has
  | "envelope_malformed" // not strict JSON of this shape, in its one spelling
  | "duplicate_key" // one object names a key twice, or one key signs twice
  | "envelope_type_unknown" // signed, perhaps, but as something else
  | "key_unknown" // no signature by a key this host believes
  | "key_expired" // signed by keys this host no longer believes, and by no other
  | "signature_wrong" // tampered with: a key we believe did not sign this
  | "payload_malformed" // signed, but not a candidate as we know it
  | "wrong_host"
  | "wrong_backend"
  | "wrong_channel"
  | "replayed" // older than what was verified before
  | "sequence_reused" // one number, two payloads: somebody signs twice
  | "clock_before_build" // our clock is wrong, so nothing about time can be said
  | "not_yet_valid"
  | "expired" // frozen: somebody keeps us from newer ones, or nobody publishes
  | "rev_dirty" // built from a tree that no commit describes
  | "candidate_withdrawn"; // its own publisher says no

/** The highest that was verified for a host and channel: below it nothing counts. */
export interface Floor {
  readonly sequence: number;
  /** SHA-256 of that payload's bytes, in hex. */
  readonly payloadDigest: string;
}

/** What a host knows before it looks. */
export interface Expectations {
  readonly host: string;
  readonly backend: Backend;
  readonly channel: string;
  /** Of this host and channel; null when nothing was ever verified. */
  readonly floor: Floor | null;
  /** Milliseconds since the epoch. */
  readonly now: number;
  /** When this software was built, in milliseconds since the epoch: no clock is before it. */
  readonly builtAt: number;
}

/** A candidate that may be believed. Keep `floor` before doing anything with it. */
export interface Offer {
  readonly kind: "offer";
  readonly payload: Payload;
  /** Its target as text: a store path, or the digest of a bundle. */
  readonly target: string;
  /** The floor from now on. */
  readonly floor: Floor;
  /** The keys we believe that signed it. */
  readonly verifiedBy: readonly string[];
}

/** An offer that is none. */
export interface EnvelopeRefusal extends Refusal<EnvelopeFault> {
  /**
   * What is nevertheless proven to be the publisher's newest word: only with `candidate_withdrawn`.
   * Its floor is to be kept and its `withdrawn` obeyed, or the envelope before it could be replayed.
   */
  readonly statement: Offer | null;
}

/** The outer JSON. */
export const envelopeShape = z.strictObject({
  payload: z.string(),
  payloadType: z.string().max(256),
  signatures: z.array(z.strictObject({
    keyid: z.string().regex(KEY_ID_PATTERN),
    sig: z.string().max(128),
  })).min(1).max(MOST_KEYS),
});

/** What is signed: DSSE's pre-authentication encoding of a type and bytes. */
export function preAuthentication(type: string, payload: Uint8Array): Uint8Array<ArrayBuffer> {
  const encoder = new TextEncoder();
  const kind = encoder.encode(type);
  const head = encoder.encode(`DSSEv1 ${kind.length} ${type} ${payload.length} `);
  const whole = new Uint8Array(head.length + payload.length);
  whole.set(head);
  whole.set(payload, head.length);
  return whole;
}

/** From bytes to an offer, or to the name of what is wrong. */
export async function verifyEnvelope(
  bytes: Uint8Array,
  trust: Trust,
  expectations: Expectations,
): Promise<Offer | EnvelopeRefusal> {
  const opened = await openEnvelope(bytes, trust, expectations.now);
  if (opened.kind === "refused") return opened;
  const { payload, payloadDigest, verifiedBy } = opened;
  const floor = { sequence: payload.sequence, payloadDigest };
  const offer: Offer = {
    kind: "offer",
    payload,
    target: targetIdOf(payload.target),
    floor,
    verifiedBy,
  };
  return meantForUs(payload, expectations) ?? isNew(floor, expectations.floor) ??
    inTime(payload, expectations) ?? standsBehind(offer) ?? offer;
}

/** An envelope whose signature is good, whoever it is meant for and however old it is. */
export interface Opened {
  readonly kind: "opened";
  readonly payload: Payload;
  readonly payloadDigest: string;
  readonly verifiedBy: readonly string[];
}

/** Checks bytes, shape and signatures only; {@link verifyEnvelope} is what a host calls. */
export async function openEnvelope(
  bytes: Uint8Array,
  trust: Trust,
  now: number,
): Promise<Opened | EnvelopeRefusal> {
  if (bytes.length > MOST_ENVELOPE_BYTES) {
    return no(
      "envelope_too_large",
      `observed ${bytes.length} bytes, expected at most ${MOST_ENVELOPE_BYTES}`,
    );
  }
  const read = readJson(bytes, { bytes: MOST_ENVELOPE_BYTES, depth: 4, values: 256 });
  if (read.kind === "refused") return no(faultOf(read, "envelope_malformed"), read.detail);
  const shaped = envelopeShape.safeParse(read.value);
  if (!shaped.success) return no("envelope_malformed", firstIssue(shaped.error));
  const envelope = shaped.data;
  if (envelopeText(envelope) !== new TextDecoder().decode(bytes)) {
    return no("envelope_malformed", "observed another spelling than canonical JSON and a newline");
  }
  const body = fromBase64(envelope.payload);
  if (body === null) return no("envelope_malformed", "payload: expected base64");
  if (envelope.payloadType !== PAYLOAD_TYPE) {
    return no("envelope_type_unknown", `expected payload type ${PAYLOAD_TYPE}`);
  }
  const signers = envelope.signatures.map(({ keyid }) => keyid);
  if (new Set(signers).size !== signers.length) {
    return no("duplicate_key", "observed two signatures by one key");
  }
  const verifiedBy = await verifySignatures(envelope, body, trust, now);
  if ("kind" in verifiedBy) return verifiedBy;
  const payload = readPayload(body, signers);
  if ("kind" in payload) return payload;
  const digest = new Uint8Array(await crypto.subtle.digest("SHA-256", body));
  return { kind: "opened", payload, payloadDigest: digest.toHex(), verifiedBy };
}

function faultOf(read: Refusal, otherwise: EnvelopeFault): EnvelopeFault {
  return read.code === "json_duplicate_key" ? "duplicate_key" : otherwise;
}

/** The one spelling of an envelope. */
export function envelopeText(envelope: z.infer<typeof envelopeShape>): string {
  return `${canonicalJson(envelope as Json)}\n`;
}

/** The believed keys that signed; one that is believed and did not sign refuses everything. */
async function verifySignatures(
  envelope: z.infer<typeof envelopeShape>,
  body: Uint8Array,
  trust: Trust,
  now: number,
): Promise<readonly string[] | EnvelopeRefusal> {
  const signed = preAuthentication(envelope.payloadType, body);
  const verified: string[] = [];
  let expired = 0;
  for (const { keyid, sig } of envelope.signatures) {
    const known = trust.get(keyid);
    if (known === undefined) continue;
    const signature = fromBase64(sig);
    if (
      signature === null || !await crypto.subtle.verify("Ed25519", known.key, signature, signed)
    ) {
      return no("signature_wrong", `the bytes are not what ${keyid} signed`, TAMPERED);
    }
    if (known.expiresAt !== null && known.expiresAt <= now) expired++;
    else verified.push(keyid);
  }
  if (verified.length > 0) return verified;
  return expired > 0
    ? no("key_expired", "every key that signed and is known here has expired", NEW_TRUST)
    : no("key_unknown", "no key that signed is in this host's trust file", NEW_TRUST);
}

const TAMPERED = "look at what lies between this host and its publisher; publish again";
const NEW_TRUST = "compare `anvil-publisher keys list` with the trust file of this host";

function readPayload(body: Uint8Array, signers: readonly string[]): Payload | EnvelopeRefusal {
  const read = readJson(body, { bytes: MOST_ENVELOPE_BYTES, depth: 8, values: 4096 });
  if (read.kind === "refused") return no(faultOf(read, "payload_malformed"), read.detail);
  const shaped = payloadShape.safeParse(read.value);
  if (!shaped.success) return no("payload_malformed", firstIssue(shaped.error), NEWER);
  const payload = shaped.data;
  const contradiction = payloadContradiction(payload);
  if (contradiction !== null) return no("payload_malformed", contradiction);
  if (canonicalJson([...payload.signed_by].sort()) !== canonicalJson([...signers].sort())) {
    return no("signature_wrong", "the signatures are not those the payload names", TAMPERED);
  }
  return payload;
}

const NEWER = "a newer publisher may say more than this version knows: update this host by hand";

function meantForUs(payload: Payload, expected: Expectations): EnvelopeRefusal | null {
  for (const key of ["host", "backend", "channel"] as const) {
    if (payload[key] !== expected[key]) {
      const detail = `observed ${key} ${payload[key]}, expected ${expected[key]}`;
      return no(`wrong_${key}`, detail, "compare this host's adopter.toml and publisher.toml");
    }
  }
  return null;
}

function isNew(observed: Floor, floor: Floor | null): EnvelopeRefusal | null {
  if (floor === null || observed.sequence > floor.sequence) return null;
  const known = `observed sequence ${observed.sequence}, and ${floor.sequence} was seen before`;
  if (observed.sequence < floor.sequence) {
    return no("replayed", known, "if the publisher was restored: `publish --sequence-above`");
  }
  return observed.payloadDigest === floor.payloadDigest ? null : no(
    "sequence_reused",
    `observed sequence ${observed.sequence} on two different payloads`,
    "two publishers sign with one key: find the second one",
  );
}

function inTime(payload: Payload, { now, builtAt }: Expectations): EnvelopeRefusal | null {
  if (now < builtAt) {
    const detail = `this host's clock says ${timestamp(now)}, its software is from ` +
      timestamp(builtAt);
    return no("clock_before_build", detail, "set the clock");
  }
  if (now + CLOCK_SKEW_MS < Date.parse(payload.issued_at)) {
    return no("not_yet_valid", `issued at ${payload.issued_at}, it is ${timestamp(now)} here`);
  }
  return now < Date.parse(payload.expires_at) ? null : no(
    "expired",
    `expired at ${payload.expires_at}`,
    "see whether the publisher still publishes",
  );
}

/** What the publisher itself says against it. */
function standsBehind(offer: Offer): EnvelopeRefusal | null {
  const { rev, withdrawn } = offer.payload;
  if (rev.dirty) return no("rev_dirty", "built from a tree with changes no commit holds");
  if (!withdrawn.includes(offer.target)) return null;
  const refusal = no("candidate_withdrawn", `sequence ${offer.floor.sequence} takes it back`);
  return { ...refusal, statement: offer };
}

/** A refusal when the running revision is newer and a step back is not meant; null otherwise. */
export function refuseDowngrade(
  offer: Offer,
  running: { readonly rev: string; readonly committedAt: number },
): Refusal<"local_generation_newer"> | null {
  const { rev, allow_downgrade_from } = offer.payload;
  if (Date.parse(rev.committed_at) >= running.committedAt) return null;
  if (allow_downgrade_from.includes(running.rev)) return null;
  return refuse(
    "local_generation_newer",
    `observed a commit of ${rev.committed_at}, this host runs one of ` +
      timestamp(running.committedAt),
    "publish with --allow-downgrade-from the running revision, if that is meant",
  );
}

function no(code: EnvelopeFault, detail: string, nextStep?: string): EnvelopeRefusal {
  return { ...refuse(code, detail, nextStep), statement: null };
}
