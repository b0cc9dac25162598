/**
 * What a Nix binary cache says of one store path, and whether its key says so too.
 *
 * @module
 */

import { STORE_PATH_PATTERN } from "../../lib/adoption/envelope_payload.ts";
import { fromBase64 } from "../../lib/adoption/keys.ts";

/** One narinfo. */
export interface NarInfo {
  readonly storePath: string;
  /** Where the bytes are, relative to the cache. */
  readonly url: string;
  /** Bytes of the NAR, unpacked. */
  readonly narSize: number;
  /** Bytes to fetch; null: it does not say. */
  readonly fileSize: number | null;
  /** SHA-256 of the NAR. */
  readonly narHash: Uint8Array<ArrayBuffer>;
  /** Full paths, in the order of the file. */
  readonly references: readonly string[];
  /** `name:base64`. */
  readonly signatures: readonly string[];
}

/** No narinfo is larger, in bytes. */
export const MOST_NARINFO_BYTES = 1024 * 1024;

/** Reads a narinfo; null when it is none. */
export function readNarInfo(bytes: Uint8Array): NarInfo | null {
  const fields = new Map<string, string[]>();
  for (const line of new TextDecoder().decode(bytes).split("\n")) {
    if (line === "") continue;
    const [, key, value = ""] = /^([A-Za-z]+): ?(.*)$/.exec(line) ?? [];
    if (key === undefined) return null;
    fields.set(key, [...fields.get(key) ?? [], value]);
  }
  const one = (key: string) => fields.get(key)?.length === 1 ? fields.get(key)?.[0] ?? null : null;
  const storePath = one("StorePath");
  const url = one("URL");
  const narHash = hashOf(one("NarHash") ?? "");
  const narSize = size(one("NarSize"));
  if (storePath === null || !STORE_PATH_PATTERN.test(storePath)) return null;
  if (url === null || !isRelative(url) || narHash === null || narSize === null) return null;
  const references = (one("References") ?? "").split(" ").filter((name) => name !== "")
    .map((name) => `/nix/store/${name}`);
  if (!references.every((path) => STORE_PATH_PATTERN.test(path))) return null;
  return {
    storePath,
    url,
    narSize,
    fileSize: size(one("FileSize")),
    narHash,
    references,
    signatures: fields.get("Sig") ?? [],
  };
}

/** A name below the cache, leading nowhere else. */
function isRelative(url: string): boolean {
  return /^[A-Za-z0-9][A-Za-z0-9._+=/-]{0,255}$/.test(url) && !url.split("/").includes("..");
}

function size(text: string | null): number | null {
  return text !== null && /^\d{1,15}$/.test(text) ? Number(text) : null;
}

/** The 32 characters that a cache files a store path under. */
export function hashPartOf(storePath: string): string {
  return storePath.slice("/nix/store/".length, "/nix/store/".length + 32);
}

/** The spelling of subresource integrity. */
export function sriOf(hash: Uint8Array): string {
  return `sha256-${hash.toBase64()}`;
}

/** True when one of `keys` (`name:base64`) signed it. */
export async function isSigned(info: NarInfo, keys: readonly string[]): Promise<boolean> {
  const fingerprint = new TextEncoder().encode(
    `1;${info.storePath};sha256:${toNix32(info.narHash)};${info.narSize};` +
      info.references.join(","),
  );
  for (const signature of info.signatures) {
    const key = keys.find((one) => nameOf(one) === nameOf(signature));
    const raw = key === undefined ? null : fromBase64(key.slice(nameOf(key).length + 1));
    const sig = fromBase64(signature.slice(nameOf(signature).length + 1));
    if (raw?.length !== 32 || sig?.length !== 64) continue;
    const verifier = await crypto.subtle.importKey("raw", raw, "Ed25519", false, ["verify"])
      .catch(() => null);
    if (verifier !== null && await crypto.subtle.verify("Ed25519", verifier, sig, fingerprint)) {
      return true;
    }
  }
  return false;
}

function nameOf(text: string): string {
  return text.slice(0, Math.max(0, text.indexOf(":")));
}

const NIX32 = "0123456789abcdfghijklmnpqrsvwxyz";

/** Nix's own base 32: the digits of a little-endian number, most significant first. */
export function toNix32(bytes: Uint8Array): string {
  const digits = Math.ceil(bytes.length * 8 / 5);
  let text = "";
  for (let n = digits - 1; n >= 0; n--) {
    const at = Math.floor(n * 5 / 8);
    const shift = n * 5 % 8;
    const value = (bytes[at] ?? 0) >> shift | (bytes[at + 1] ?? 0) << (8 - shift);
    text += NIX32[value & 31];
  }
  return text;
}

/** 32 bytes of `sha256:` in Nix's base 32 or in hex, or of `sha256-` in base64; null otherwise. */
function hashOf(text: string): Uint8Array<ArrayBuffer> | null {
  if (/^sha256-[A-Za-z0-9+/]{43}=$/.test(text)) return fromBase64(text.slice(7));
  if (/^sha256:[0-9a-f]{64}$/.test(text)) return Uint8Array.fromHex(text.slice(7));
  if (!/^sha256:[0-9abcdfghijklmnpqrsvwxyz]{52}$/.test(text)) return null;
  const bytes = new Uint8Array(33);
  [...text.slice(7)].reverse().forEach((digit, n) => {
    const at = Math.floor(n * 5 / 8);
    const shift = n * 5 % 8;
    const value = NIX32.indexOf(digit) << shift;
    bytes[at] = (bytes[at] ?? 0) | value & 255;
    bytes[at + 1] = (bytes[at + 1] ?? 0) | value >> 8;
  });
  return bytes[32] === 0 ? bytes.slice(0, 32) : null;
}
