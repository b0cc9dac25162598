/**
 * A directory becomes blobs and a manifest. Every file is read once, stored under the digest of what
 * was read, and read back: what changes meanwhile changes the manifest, never a blob.
 *
 * @module
 */

import {
  BUNDLE_BOUNDS,
  checkManifest,
  MANIFEST,
  type Manifest,
  manifestText,
  readManifest,
} from "../../lib/generation/manifest.ts";
import { canonicalJson } from "../../lib/core/canonical_json.ts";
import { hex } from "../../lib/core/ids.ts";
import { within } from "../../lib/host/paths.ts";
import { blobPath } from "./layout.ts";
import { no, ofDisk, type PublisherPorts, type PublisherRefusal } from "./ports.ts";
import {
  MOST_REVISION_BYTES,
  readRevision,
  type Revision,
  REVISION_NAME,
  revisionMissing,
  revisionOfManifest,
} from "./revision.ts";

type TreePorts = Pick<PublisherPorts, "files" | "directories" | "sha256" | "progress">;

/** A tree whose every blob is in place. */
export interface StoredTree {
  readonly kind: "stored";
  /** `sha256:` and the digest of the manifest. */
  readonly digest: string;
  readonly manifestSize: number;
  /** Bytes to fetch with nothing there: each blob once, and the manifest. */
  readonly download: number;
  /** Bytes on the disk. */
  readonly unpacked: number;
  /** Blobs that were not there before. */
  readonly written: number;
}

/** What the tree says it was built from, before anything of it is stored. */
export async function revisionOfTree(
  ports: TreePorts,
  tree: string,
): Promise<Revision | PublisherRefusal> {
  const own = await ports.files.readBounded(within(tree, REVISION_NAME), MOST_REVISION_BYTES);
  if (own.kind === "ok") return readRevision(own.bytes);
  if (own.kind === "refused") return ofDisk(own, `read ${REVISION_NAME}`);
  const manifest = await ownManifest(ports, tree);
  if (manifest === null) return revisionMissing();
  return "kind" in manifest ? manifest : revisionOfManifest(manifest) ?? revisionMissing();
}

/** Stores every file of `tree` and its manifest below `root`. */
export async function storeTree(
  ports: TreePorts,
  root: string,
  tree: string,
): Promise<StoredTree | PublisherRefusal> {
  const own = await ownManifest(ports, tree);
  if (own !== null && "kind" in own) return own;
  const paths = await listTree(ports, tree);
  if (!Array.isArray(paths)) return paths;
  const files: Manifest["files"] = [];
  const blobs = new Map<string, number>();
  let written = 0;
  for (const { path, executable } of paths) {
    const read = await ports.files.readBounded(within(tree, path), BUNDLE_BOUNDS.fileBytes);
    if (read.kind === "absent") {
      return no("tree_changed", "a file went away meanwhile", "try again");
    }
    if (read.kind === "refused") {
      return read.code === "file_too_large"
        ? no("tree_too_large", `${path}: more than ${BUNDLE_BOUNDS.fileBytes} bytes`)
        : ofDisk(read, "read a file of the tree");
    }
    const sha256 = hex(ports.sha256(read.bytes));
    files.push({ path, sha256, size: read.bytes.length, mode: executable ? "0555" : "0444" });
    if (blobs.has(sha256)) continue;
    const stored = await storeBlob(ports, root, sha256, read.bytes);
    if (typeof stored !== "boolean") return stored;
    if (stored) written++;
    blobs.set(sha256, read.bytes.length);
    if (files.length % 100 === 0) ports.progress(`tree: ${files.length} of ${paths.length} files`);
  }
  const manifest: Manifest = own ?? {
    ...{ schema: 1, version: "0", build: null, platform: null, roles: [] },
    files,
  };
  if (own !== null && canonicalJson(own.files) !== canonicalJson(files)) {
    return no("tree_differs", `the tree is not what its ${MANIFEST} lists`, "build it again");
  }
  const unsafe = files.length === 0
    ? no("tree_empty", "there is no file in the tree")
    : checkManifest(manifest);
  if (unsafe !== null) return unsafe;
  const text = new TextEncoder().encode(manifestText(manifest));
  const digest = hex(ports.sha256(text));
  const stored = await storeBlob(ports, root, digest, text);
  if (typeof stored !== "boolean") return stored;
  return {
    kind: "stored",
    digest: `sha256:${digest}`,
    manifestSize: text.length,
    download: [...blobs.values()].reduce((sum, size) => sum + size, text.length),
    unpacked: files.reduce((sum, { size }) => sum + size, text.length),
    written: written + (stored ? 1 : 0),
  };
}

/** The manifest that `make bundle` left in a tree; null when there is none. */
async function ownManifest(
  { files }: TreePorts,
  tree: string,
): Promise<Manifest | PublisherRefusal | null> {
  const read = await files.readBounded(within(tree, MANIFEST), BUNDLE_BOUNDS.manifestBytes);
  if (read.kind === "absent") return null;
  if (read.kind === "refused") return ofDisk(read, `read ${MANIFEST}`);
  const manifest = readManifest(read.bytes);
  return manifest.kind === "ok" ? manifest.manifest : no(
    manifest.code,
    `${MANIFEST}: ${manifest.detail}`,
    "build the bundle again, or call the file something else",
  );
}

/** True when the blob was written, false when it was there. Either way it was read back. */
async function storeBlob(
  { files, sha256 }: TreePorts,
  root: string,
  digest: string,
  bytes: Uint8Array,
): Promise<boolean | PublisherRefusal> {
  const path = blobPath(root, digest);
  const holds = async () => {
    const read = await files.readBounded(path, bytes.length);
    return read.kind === "ok" && hex(sha256(read.bytes)) === digest;
  };
  if (await holds()) return false;
  const written = await files.replaceFile(path, bytes, 0o444);
  if (written.kind === "refused") return ofDisk(written, "write a blob");
  return await holds() ? true : no(
    "blob_damaged",
    "what was read back is not what was written",
    "look at the disk; nothing was published",
  );
}

interface Listed {
  readonly path: string;
  readonly executable: boolean;
}

/** Every file, by path in ascending order. */
async function listTree(
  { directories }: TreePorts,
  tree: string,
): Promise<Listed[] | PublisherRefusal> {
  const found: Listed[] = [];
  const visit = async (below: string, depth: number): Promise<PublisherRefusal | null> => {
    const list = await directories.list(
      below === "" ? tree : within(tree, below),
      BUNDLE_BOUNDS.files + 1,
    );
    if (list.kind === "absent") return no("tree_absent", "there is no such directory");
    if (list.kind === "refused") {
      return list.code === "directory_too_many"
        ? no("tree_too_large", `observed more than ${BUNDLE_BOUNDS.files} files`)
        : ofDisk(list, "read the tree");
    }
    for (const { name, kind, executable } of list.entries) {
      const path = below === "" ? name : `${below}/${name}`;
      if (path === MANIFEST) continue;
      if (kind === "link") return no("tree_link", `${path} is a link: put the file itself there`);
      if (kind === "other") return no("tree_device", `${path} is no file and no directory`);
      if (kind === "directory") {
        if (depth >= 64) return no("tree_too_large", "directories deeper than 64");
        const refusal = await visit(path, depth + 1);
        if (refusal !== null) return refusal;
      } else found.push({ path, executable });
      if (found.length > BUNDLE_BOUNDS.files) {
        return no("tree_too_large", `observed more than ${BUNDLE_BOUNDS.files} files`);
      }
    }
    return null;
  };
  const refusal = await visit("", 0);
  return refusal ?? found.sort((left, right) => left.path < right.path ? -1 : 1);
}
