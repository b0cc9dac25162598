/**
 * The archive of a bundle, a pure function of its manifest and contents: the same bytes wherever and
 * whenever it is written.
 *
 *     header, manifest.json, zeros │ header, file, zeros │ … │ two blocks of zeros
 *
 * @module
 */

import { BLOCK, headerOf, paddingOf } from "./archive_header.ts";
import { checkManifest, MANIFEST, type Manifest, manifestText } from "./manifest.ts";
import { type GenerationPorts, type GenerationRefusal, generationRefusal } from "./ports.ts";
import { hex } from "../core/ids.ts";

/** The archive's end: two blocks of zeros. */
export const END_BYTES = 2 * BLOCK;

/** The header of `manifest.json` with a text of `size` bytes. */
export function manifestHeader(size: number): Uint8Array {
  return headerOf({ path: MANIFEST, size, mode: "0444" }) as Uint8Array;
}

/** How long the archive is, in bytes. */
export function archiveLength(manifest: Manifest): number {
  const sizes = [
    new TextEncoder().encode(manifestText(manifest)).length,
    ...manifest.files.map(({ size }) => size),
  ];
  return sizes.reduce((sum, size) => sum + BLOCK + size + paddingOf(size), END_BYTES);
}

/** Null when an archive can hold `manifest`. */
export function checkArchivable(manifest: Manifest): GenerationRefusal | null {
  const refusal = checkManifest(manifest);
  if (refusal !== null) return refusal;
  const long = manifest.files.find((file) => headerOf(file) === null);
  return long === undefined
    ? null
    : generationRefusal("bundle_path_unsafe", `${long.path}: the path is too long for an archive`);
}

/**
 * Writes the archive chunk by chunk; `contentOf` gives a file's bytes when its turn comes. Throws
 * for a manifest that {@link checkArchivable} refuses and for contents that are not the listed ones.
 */
export async function* writeArchive(
  sha256: GenerationPorts["sha256"],
  manifest: Manifest,
  contentOf: (path: string) => Promise<Uint8Array>,
): AsyncGenerator<Uint8Array, void, void> {
  const refusal = checkArchivable(manifest);
  if (refusal !== null) throw new TypeError(`${refusal.code}: ${refusal.detail}`);
  const text = new TextEncoder().encode(manifestText(manifest));
  yield manifestHeader(text.length);
  yield text;
  yield new Uint8Array(paddingOf(text.length));
  for (const file of manifest.files) {
    const bytes = await contentOf(file.path);
    if (bytes.length !== file.size || hex(sha256(bytes)) !== file.sha256) {
      throw new TypeError(`${file.path} is not what the manifest lists`);
    }
    yield headerOf(file) as Uint8Array;
    yield bytes;
    yield new Uint8Array(paddingOf(file.size));
  }
  yield new Uint8Array(END_BYTES);
}
