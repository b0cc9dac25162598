/**
 * `manifest.json`: what a bundle is, file by file. The SHA-256 of its canonical text names the
 * generation, so there is one text per content and no other is taken.
 *
 * @module
 */

import * as z from "zod";
import { canonicalJson } from "../core/canonical_json.ts";
import { hex } from "../core/ids.ts";
import { readJson } from "../core/strict_json.ts";
import { findCollisions, pathFault, printable } from "./path_rules.ts";
import { type GenerationPorts, type GenerationRefusal, generationRefusal } from "./ports.ts";

/** The manifest's own name in archive and generation. */
export const MANIFEST = "manifest.json";

/** What a bundle may weigh. */
export interface BundleBounds {
  readonly files: number;
  /** Bytes of one file. */
  readonly fileBytes: number;
  /** Bytes of all files. */
  readonly bytes: number;
  /** Bytes of the manifest's text. */
  readonly manifestBytes: number;
}

/** Plenty for a runtime, six roles and their units. */
export const BUNDLE_BOUNDS: BundleBounds = {
  files: 2000,
  fileBytes: 256 * 1024 * 1024,
  bytes: 512 * 1024 * 1024,
  manifestBytes: 1024 * 1024,
};

/** A SHA-256 in lower-case hex. */
export const digestShape = z.string().regex(
  /^[0-9a-f]{64}$/,
  "expected a SHA-256 in lower-case hex",
);

/** One file of a bundle. */
const fileShape = z.strictObject({
  path: z.string().min(1).max(255),
  sha256: digestShape,
  /** Bytes. */
  size: z.int().min(0),
  /** As it is on the disk: read by all, written by nobody. */
  mode: z.enum(["0444", "0555"]),
});

/** `manifest.json`. */
export const manifestShape = z.strictObject({
  schema: z.literal(1),
  version: z.string().regex(/^[0-9A-Za-z.+-]{1,64}$/),
  /** Which build of our own programs it is; null for a tree of anything else. */
  build: z.strictObject({
    /** What `--version --json` says. */
    digest: digestShape,
    /** The commit, `-dirty` behind it when the tree differed; null when there was no git. */
    commit: z.string().regex(/^[0-9a-f]{40}([0-9a-f]{24})?(-dirty)?$/).nullable(),
  }).nullable(),
  /** What it runs on; null when that does not matter. */
  platform: z.strictObject({
    os: z.enum(["linux", "darwin", "windows"]),
    arch: z.enum(["x64", "arm64"]),
  }).nullable(),
  /** The roles it has a launcher for, in order. */
  roles: z.array(z.string().regex(/^[a-z][a-z0-9-]{0,62}$/)).max(16),
  /** In the order of their paths' UTF-16 units; the manifest itself is not listed. */
  files: z.array(fileShape).min(1),
});

/** A manifest. */
export type Manifest = z.infer<typeof manifestShape>;
/** One file of a bundle. */
export type BundleFile = Manifest["files"][number];

/** The text of `manifest.json`, and of what its digest is made. */
export function manifestText(manifest: Manifest): string {
  return canonicalJson(manifest);
}

/** The name of the generation. */
export function manifestDigest(sha256: GenerationPorts["sha256"], manifest: Manifest): string {
  return hex(sha256(manifestText(manifest)));
}

/** Reads a manifest: strict JSON, of the shape, in the canonical spelling, with safe paths. */
export function readManifest(
  bytes: Uint8Array,
  bounds: BundleBounds = BUNDLE_BOUNDS,
): { readonly kind: "ok"; readonly manifest: Manifest } | GenerationRefusal {
  if (bytes.length > bounds.manifestBytes) {
    return generationRefusal(
      "manifest_too_large",
      `observed a manifest of ${bytes.length} bytes, expected at most ${bounds.manifestBytes}`,
    );
  }
  const values = 64 + bounds.files * 8;
  const read = readJson(bytes, { bytes: bounds.manifestBytes, depth: 8, values });
  if (read.kind === "refused") {
    return generationRefusal("manifest_malformed", `the manifest is no JSON: ${read.detail}`);
  }
  const parsed = manifestShape.safeParse(read.value);
  if (!parsed.success) {
    const where = parsed.error.issues[0]?.path.map(String).join(".") ?? "";
    return generationRefusal(
      "manifest_malformed",
      `the manifest is not of schema 1, at \`${printable(where)}\``,
      { nextStep: "build the bundle anew with the version that shall read it" },
    );
  }
  const text = new TextDecoder().decode(bytes);
  if (manifestText(parsed.data) !== text) {
    return generationRefusal(
      "manifest_not_canonical",
      "the manifest is not in its one spelling, so its digest names nothing",
    );
  }
  return checkManifest(parsed.data, bounds) ?? { kind: "ok", manifest: parsed.data };
}

/** Null when sizes, order and paths of `manifest` are as they must be. */
export function checkManifest(
  { roles, files }: Manifest,
  bounds: BundleBounds = BUNDLE_BOUNDS,
): GenerationRefusal | null {
  if (files.length > bounds.files) {
    return generationRefusal(
      "bundle_too_many_files",
      `observed ${files.length} files, expected at most ${bounds.files}`,
    );
  }
  let total = 0;
  for (const { path, size } of files) {
    total += size;
    if (size > bounds.fileBytes) {
      return generationRefusal(
        "bundle_file_too_large",
        `observed ${size} bytes for ${printable(path)}, expected at most ${bounds.fileBytes}`,
      );
    }
    const fault = /^[\x20-\x7e]*$/.test(path) ? pathFault(path) : "a name is not ASCII";
    if (fault !== null) {
      return generationRefusal("bundle_path_unsafe", `${printable(path)}: ${fault}`);
    }
  }
  if (total > bounds.bytes) {
    return generationRefusal(
      "bundle_too_large",
      `observed ${total} bytes in all, expected at most ${bounds.bytes}`,
    );
  }
  const paths = files.map(({ path }) => path);
  const [collision] = findCollisions([MANIFEST, ...paths]);
  if (collision !== undefined) {
    return generationRefusal(
      "bundle_path_collision",
      `${collision.path} and ${collision.first} cannot both be where case is not kept apart`,
    );
  }
  return isAscending(paths) && isAscending(roles)
    ? null
    : generationRefusal("manifest_not_canonical", "files and roles are not in ascending order");
}

function isAscending(texts: readonly string[]): boolean {
  return texts.every((text, index) => index === 0 || (texts[index - 1] as string) < text);
}
