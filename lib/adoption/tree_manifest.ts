/**
 * What a bundle is, file by file. The SHA-256 of the manifest's canonical text is the digest that an
 * envelope signs; each file is a blob of its own digest, so that what two bundles share is fetched
 * once.
 *
 * @module
 */

import { z } from "zod";
import { canonicalJson } from "../core/canonical_json.ts";
import { type Refusal, refuse } from "../core/refusal.ts";
import { readJson } from "../core/strict_json.ts";
import { firstIssue } from "./keys.ts";

/** The manifest's own name in a tree; it does not list itself. */
export const MANIFEST_NAME = "manifest.json";

/** Files of one bundle. */
export const MOST_FILES = 2000;
/** Bytes of one file. */
export const MOST_FILE_BYTES = 256 * 1024 * 1024;
/** Bytes of all files. */
export const MOST_TREE_BYTES = 512 * 1024 * 1024;
/** Bytes of a manifest. */
export const MOST_MANIFEST_BYTES = 1024 * 1024;

const digestShape = z.string().regex(/^[0-9a-f]{64}$/);

/** `manifest.json`; the same shape as that of `make bundle`. */
export const treeManifestShape = z.strictObject({
  schema: z.literal(1),
  version: z.string().regex(/^[0-9A-Za-z.+-]{1,64}$/),
  build: z.strictObject({
    digest: digestShape,
    commit: z.string().regex(/^[0-9a-f]{40}([0-9a-f]{24})?(-dirty)?$/).nullable(),
  }).nullable(),
  platform: z.strictObject({
    os: z.enum(["linux", "darwin", "windows"]),
    arch: z.enum(["x64", "arm64"]),
  }).nullable(),
  roles: z.array(z.string().regex(/^[a-z][a-z0-9-]{0,62}$/)).max(16),
  files: z.array(z.strictObject({
    path: z.string().min(1).max(255),
    sha256: digestShape,
    size: z.int().min(0).max(MOST_FILE_BYTES),
    mode: z.enum(["0444", "0555"]),
  })).min(1).max(MOST_FILES),
});

/** A manifest. */
export type TreeManifest = z.infer<typeof treeManifestShape>;
/** One file of it. */
export type TreeFile = TreeManifest["files"][number];

/** Why a manifest is not taken. */
export type TreeFault =
  | "manifest_malformed" // not strict JSON of this shape
  | "manifest_not_canonical" // another spelling: its digest would be another
  | "tree_path_unsafe" // a name that leads elsewhere, or means something else somewhere
  | "tree_path_collision" // two names that are one where case is not kept apart
  | "tree_too_large";

/** The text of a manifest, and of what its digest is made. */
export function treeManifestText(manifest: TreeManifest): string {
  return canonicalJson(manifest);
}

/** Reads a manifest whose digest was checked, or is about to be. */
export function readTreeManifest(
  bytes: Uint8Array,
): { readonly kind: "ok"; readonly manifest: TreeManifest } | Refusal<TreeFault> {
  const values = 64 + MOST_FILES * 8;
  const read = readJson(bytes, { bytes: MOST_MANIFEST_BYTES, depth: 8, values });
  if (read.kind === "refused") return refuse("manifest_malformed", read.detail);
  const shaped = treeManifestShape.safeParse(read.value);
  if (!shaped.success) return refuse("manifest_malformed", firstIssue(shaped.error));
  if (treeManifestText(shaped.data) !== new TextDecoder().decode(bytes)) {
    return refuse("manifest_not_canonical", "the manifest is not in its one spelling");
  }
  return checkTree(shaped.data) ?? { kind: "ok", manifest: shaped.data };
}

/** Null when paths, order and sizes are as they must be. */
export function checkTree({ files, roles }: TreeManifest): Refusal<TreeFault> | null {
  let total = 0;
  for (const { path, size } of files) {
    total += size;
    const fault = pathFault(path);
    if (fault !== null) return refuse("tree_path_unsafe", `${shown(path)}: ${fault}`);
  }
  if (total > MOST_TREE_BYTES) {
    return refuse("tree_too_large", `observed ${total} bytes, expected at most ${MOST_TREE_BYTES}`);
  }
  const collision = findCollision([MANIFEST_NAME, ...files.map(({ path }) => path)]);
  if (collision !== null) {
    const detail = `${shown(collision)} cannot be beside another where case is not kept apart`;
    return refuse("tree_path_collision", detail);
  }
  return isAscending(files.map(({ path }) => path)) && isAscending(roles)
    ? null
    : refuse("manifest_not_canonical", "files and roles are not in ascending order");
}

/** Names Windows keeps for devices. */
const DEVICE = /^(con|prn|aux|nul|com[0-9]|lpt[0-9]|conin\$|conout\$|clock\$)(\..*)?$/i;

function pathFault(path: string): string | null {
  if (!/^[\x20-\x7e]*$/.test(path)) return "a name is not ASCII";
  for (const part of path.split("/")) {
    if (part === "" || part === "." || part === "..") return "the path leaves its directory";
    if (part.toLowerCase() === ".git") return "a part of the path is called .git";
    if (part.length > 200) return "a name is longer than 200 bytes";
    if (/[\\:*?"<>|]/.test(part)) return "a name holds a character that some systems refuse";
    if (/[. ]$/.test(part) || DEVICE.test(part)) return "a name means something else on Windows";
    if (/^\..*\.tmp$/.test(part)) return "a name looks like an unfinished file of ours";
  }
  return null;
}

/** The first path that is another's, or a directory of another, where case is not kept apart. */
function findCollision(paths: readonly string[]): string | null {
  const seen = new Map<string, { readonly spelled: string; readonly isFile: boolean }>();
  for (const path of paths) {
    const parts = path.split("/");
    for (let end = 1; end <= parts.length; end++) {
      const spelled = parts.slice(0, end).join("/");
      const isFile = end === parts.length;
      const first = seen.get(spelled.toLowerCase());
      if (first === undefined) seen.set(spelled.toLowerCase(), { spelled, isFile });
      else if (first.spelled !== spelled || isFile || first.isFile) return path;
    }
  }
  return null;
}

function isAscending(texts: readonly string[]): boolean {
  return texts.every((text, index) => index === 0 || (texts[index - 1] as string) < text);
}

/** A name of a stranger may hold anything, terminal sequences too. */
function shown(path: string): string {
  return JSON.stringify(path).replaceAll(/[^\x20-\x7e]/g, "?");
}
