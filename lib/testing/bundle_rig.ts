/**
 * Small bundles, and archives that are none.
 *
 * @module
 */

import { BLOCK } from "../generation/archive_header.ts";
import type { Manifest } from "../generation/manifest.ts";
import { writeArchive } from "../generation/write_archive.ts";
import { sha256 } from "../host/digest.ts";

/** Contents by path; a path that ends in `!` is executable. */
export type Contents = Readonly<Record<string, string>>;

/** A bundle of text files. */
export interface Bundle {
  readonly manifest: Manifest;
  readonly contentOf: (path: string) => Promise<Uint8Array>;
}

/** Makes one. */
export function bundleOf(contents: Contents, version = "1.0.0"): Bundle {
  const files = Object.entries(contents).map(([key, text]) => {
    const bytes = new TextEncoder().encode(text);
    const path = key.replace(/!$/, "");
    const mode = key.endsWith("!") ? "0555" : "0444";
    return {
      path,
      bytes,
      listed: { path, sha256: sha256(bytes).toHex(), size: bytes.length, mode },
    };
  }).sort((left, right) => left.path < right.path ? -1 : 1);
  const manifest = {
    schema: 1,
    version,
    build: null,
    platform: null,
    roles: [],
    files: files.map(({ listed }) => listed),
  } as Manifest;
  const byPath = new Map(files.map(({ path, bytes }) => [path, bytes]));
  return { manifest, contentOf: (path) => Promise.resolve(byPath.get(path) as Uint8Array) };
}

/** All of an archive. */
export async function archiveOf({ manifest, contentOf }: Bundle): Promise<Uint8Array> {
  return joined(await Array.fromAsync(writeArchive(sha256, manifest, contentOf)));
}

/** Chunks into one. */
export function joined(chunks: readonly Uint8Array[]): Uint8Array {
  const all = new Uint8Array(chunks.reduce((sum, { length }) => sum + length, 0));
  let at = 0;
  for (const chunk of chunks) {
    all.set(chunk, at);
    at += chunk.length;
  }
  return all;
}

/** Bytes in chunks of `size`. */
export async function* chunksOf(bytes: Uint8Array, size = 1000): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < bytes.length; at += size) {
    yield await Promise.resolve(bytes.subarray(at, at + size));
  }
}

/** A header with changed fields, its sum made right again. */
export function forged(
  header: Uint8Array,
  fields: { readonly [at: number]: string },
): Uint8Array {
  const block = Uint8Array.from(header.subarray(0, BLOCK));
  for (const [at, text] of Object.entries(fields)) {
    block.set(new TextEncoder().encode(text), Number(at));
  }
  block.fill(0x20, 148, 156);
  const sum = block.reduce((total, byte) => total + byte, 0);
  block.set(new TextEncoder().encode(`${sum.toString(8).padStart(6, "0")}\0 `), 148);
  return block;
}
