/**
 * Frames of the receiver: four bytes of length, big-endian, and as many bytes of canonical JSON.
 *
 *     00 00 00 2a {"expected_node":"…","verb":"identity"}     `stage` alone: and then the bundle
 *
 * @module
 */

import { canonicalJson, type Json } from "../core/canonical_json.ts";
import { type Refusal, refuse } from "../core/refusal.ts";
import { readJson } from "../core/strict_json.ts";

/** Bytes in front of each frame. */
export const HEAD_BYTES = 4;
/** Most bytes of JSON in a frame. */
export const MOST_FRAME_BYTES = 4096;

/** What is not a frame of this contract. */
export type FrameRefusal = Refusal<"invalid_contract">;

/** The frame of `value`. Throws `RangeError` for one that is too long: a bug of the caller. */
export function encodeFrame(value: Json): Uint8Array {
  const body = new TextEncoder().encode(canonicalJson(value));
  if (body.length > MOST_FRAME_BYTES) throw new RangeError(`a frame of ${body.length} bytes`);
  const frame = new Uint8Array(HEAD_BYTES + body.length);
  new DataView(frame.buffer).setUint32(0, body.length);
  frame.set(body, HEAD_BYTES);
  return frame;
}

/** How many bytes follow a head of {@link HEAD_BYTES} bytes. */
export function frameLength(head: Uint8Array): number | FrameRefusal {
  const length = new DataView(head.buffer, head.byteOffset, head.byteLength).getUint32(0);
  if (length >= 2 && length <= MOST_FRAME_BYTES) return length;
  return refuse("invalid_contract", `expected a frame of 2 to ${MOST_FRAME_BYTES} bytes`);
}

/** The value of a frame's body: an object in canonical spelling, without a null anywhere. */
export function decodeFrame(
  body: Uint8Array,
): { readonly kind: "ok"; readonly value: Json } | FrameRefusal {
  const read = readJson(body, { bytes: MOST_FRAME_BYTES, depth: 8, values: 256 });
  if (read.kind === "refused") return refuse("invalid_contract", "the frame is not JSON");
  const { value } = read;
  const isObject = typeof value === "object" && value !== null && !Array.isArray(value);
  if (!isObject || holdsNull(value)) {
    return refuse("invalid_contract", "the frame is not an object without nulls");
  }
  if (canonicalJson(value) !== new TextDecoder().decode(body)) {
    return refuse("invalid_contract", "the frame is not in canonical spelling");
  }
  return { kind: "ok", value };
}

function holdsNull(value: Json): boolean {
  if (value === null) return true;
  if (typeof value !== "object") return false;
  return Object.values(value).some(holdsNull);
}
