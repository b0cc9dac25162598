/**
 * A bundle's bytes, from a publisher into the store: the manifest by its digest, then each file by its
 * own. What is in some generation already is copied, not fetched.
 *
 * @module
 */

import type { Download } from "../../core/download.ts";
import type { Directories } from "../../core/directories.ts";
import type { Files } from "../../core/files.ts";
import { BUNDLE_BOUNDS, type Manifest, readManifest } from "../../generation/manifest.ts";
import {
  listGenerations,
  loadManifest,
  refuseDamaged,
  stageFiles,
  type Store,
  type Stored,
} from "../../generation/store.ts";
import type { StageAsk, StageFault } from "../backend.ts";
import { stageFault } from "../backend.ts";
import { blobTarget } from "../publication.ts";
import type { GenerationRefusal } from "../../generation/ports.ts";

/** Where bytes come from, and where they are kept while they come. */
export interface TreeSource {
  readonly download: Download;
  readonly files: Files;
  readonly directories: Directories;
  /** Of the publisher, without a slash at the end. */
  readonly url: string;
  /** Folder of half-fetched blobs; it survives, so that a later run goes on. */
  readonly parts: string;
  readonly idleMs: number;
}

/** Fetches and stages; the generation is whole and named, or there is none. */
export async function fetchTree(
  store: Store,
  source: TreeSource,
  ask: StageAsk,
): Promise<Stored | StageFault> {
  const { candidate } = ask;
  const digest = candidate.id.replace(/^sha256:/, "");
  const made = await source.directories.make(source.parts);
  if (made.kind === "refused") return stageFault("environment", "stage_unwritable", made.detail);
  const manifest = await fetchManifest(source, ask, digest);
  if ("kind" in manifest) return manifest;
  const here = await filesHere(store);
  const wanted = new Map(manifest.files.map((file) => [file.sha256, file.size]));
  const total = [...wanted].reduce((sum, [sha256, size]) => here.has(sha256) ? sum : sum + size, 0);
  let done = 0;
  for (const [sha256, size] of wanted) {
    if (here.has(sha256)) continue;
    const before = done;
    const fault = await fetchBlob(source, ask, sha256, size, (now) => {
      ask.progress?.({ done: before + now, total });
    });
    if (fault !== null) return fault;
    done += size;
  }
  const digests = new Map(manifest.files.map(({ path, sha256 }) => [path, sha256]));
  const staged = await stageFiles(store, manifest, async (path) => {
    const sha256 = digests.get(path) ?? "";
    const read = await source.files.readBounded(
      here.get(sha256) ?? `${source.parts}/${sha256}`,
      BUNDLE_BOUNDS.fileBytes,
    );
    // Nothing, or other bytes: the store compares what it wrote and refuses.
    return read.kind === "ok" ? read.bytes : new Uint8Array(0);
  });
  if (staged.kind === "refused") {
    // Blobs that do not add up to the manifest are of no use to a later run either.
    if (staged.code === "generation_damaged") await source.directories.remove(source.parts);
    return ofGeneration(staged);
  }
  await source.directories.remove(source.parts);
  return staged;
}

async function fetchManifest(
  source: TreeSource,
  ask: StageAsk,
  digest: string,
): Promise<Manifest | StageFault> {
  const fault = await fetchBlob(source, ask, digest, ask.candidate.manifest_size, () => {});
  if (fault !== null) return fault;
  const read = await source.files.readBounded(
    `${source.parts}/${digest}`,
    BUNDLE_BOUNDS.manifestBytes,
  );
  if (read.kind !== "ok") {
    return stageFault("environment", "stage_unreadable", "the fetched manifest cannot be read");
  }
  const manifest = readManifest(read.bytes);
  return manifest.kind === "ok" ? manifest.manifest : ofGeneration(manifest);
}

async function fetchBlob(
  source: TreeSource,
  ask: StageAsk,
  sha256: string,
  size: number,
  progress: (done: number) => void,
): Promise<StageFault | null> {
  const fetched = await source.download.blob({
    url: `${source.url}${blobTarget(sha256)}`,
    sha256,
    size,
    path: `${source.parts}/${sha256}`,
    deadlineMs: ask.deadlineMs,
    idleMs: source.idleMs,
    onProgress: ({ done }) => progress(done),
  });
  if (fetched.kind === "ok") return null;
  const { code, detail, nextStep } = fetched;
  const wrong = code === "blob_digest_wrong" || code === "fetch-too-large";
  return stageFault(wrong ? "integrity" : "environment", code, detail, nextStep);
}

/** Files of every whole generation in the store, by digest. */
async function filesHere(store: Store): Promise<ReadonlyMap<string, string>> {
  const here = new Map<string, string>();
  const digests = await listGenerations(store);
  if ("kind" in digests) return here;
  for (const digest of digests) {
    const manifest = await loadManifest(store, digest);
    if ("kind" in manifest || await refuseDamaged(store, digest) !== null) continue;
    for (const { path, sha256 } of manifest.files) {
      here.set(sha256, `${store.root}/generations/${digest}/${path}`);
    }
  }
  return here;
}

/** Whose fault a refusal of the store is. */
export function ofGeneration(refusal: GenerationRefusal): StageFault {
  const { code, detail, nextStep } = refusal;
  const cls = code === "generation_damaged" || code === "generation_digest_differs" ||
      code === "file_digest_differs"
    ? "integrity"
    : code.startsWith("store_") || code === "generation_unknown" || code === "pointer_damaged"
    ? "environment"
    : "candidate";
  return stageFault(cls, code, detail, nextStep);
}
