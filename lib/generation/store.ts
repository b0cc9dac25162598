/**
 * The store: generations written beside, compared file by file, and named at once.
 *
 *     .staging-<digest> ──each file flushed──> whole ──compared──> generations/<digest>
 *            └── a crash here leaves a directory that nobody looks at, and the next staging removes
 *
 * Everything that changes a store is for one writer: the caller holds a lock.
 *
 * @module
 */

import { parent, within } from "../host/paths.ts";
import { compareTree, type Difference } from "./compare_tree.ts";
import {
  generationPath,
  generationsPath,
  manifestPath,
  MOST_GENERATIONS,
  REMOVING,
  STAGING,
} from "./layout.ts";
import {
  BUNDLE_BOUNDS,
  type BundleBounds,
  checkManifest,
  MANIFEST,
  type Manifest,
  manifestDigest,
  manifestText,
  readManifest,
} from "./manifest.ts";
import {
  type GenerationPorts,
  type GenerationRefusal,
  generationRefusal,
  ofStore,
} from "./ports.ts";
import { readArchive } from "./read_archive.ts";

/** A store on this machine. */
export interface Store {
  readonly ports: GenerationPorts;
  /** An absolute path. */
  readonly root: string;
  /** False where files have no executable bit: Windows. */
  readonly keepsModes: boolean;
  readonly bounds?: BundleBounds;
}

/** A generation that is in the store, whole. */
export interface Stored {
  readonly kind: "stored";
  readonly digest: string;
  readonly manifest: Manifest;
  /** True when it was there before, and nothing was written. */
  readonly present: boolean;
}

/** What is expected of what is staged. */
export interface StageAsk {
  /** The manifest's digest, as whoever is trusted said. */
  readonly digest: string;
  /** The archive's length in bytes, where it was said. */
  readonly length?: number;
}

/**
 * Stages an archive of a stranger: nothing gets a name before every byte of it was as the manifest
 * says, and the manifest is the one that was asked for. A generation that is there already, whole,
 * stays, and `chunks` is not read.
 */
export async function stageArchive(
  store: Store,
  chunks: AsyncIterable<Uint8Array>,
  ask: StageAsk,
): Promise<Stored | GenerationRefusal> {
  const present = await findPresent(store, ask.digest);
  if (present !== null) return present;
  const swept = await sweep(store);
  if (swept !== null) return swept;
  const staging = newStaging(store, ask.digest);
  const taker = {
    manifest: async (manifest: Manifest, digest: string) =>
      digest === ask.digest
        ? await staging.put(MANIFEST, encode(manifestText(manifest)), "0444")
        : digestDiffers(),
    file: (
      { path, mode }: { readonly path: string; readonly mode: "0444" | "0555" },
      bytes: Uint8Array,
    ) => staging.put(path, bytes, mode),
  };
  const limits = {
    ...(ask.length === undefined ? {} : { length: ask.length }),
    ...boundsOf(store),
  };
  const read = await readArchive(store.ports.sha256, chunks, taker, limits);
  if (read.kind === "refused") {
    // Best effort: what stays is swept by the next staging, and the first refusal is the one to tell.
    await store.ports.directories.remove(staging.path);
    return read;
  }
  return await publish(store, read.manifest, ask.digest);
}

/** Stages what is on this machine, such as a folder that was built: `contentOf` gives the files. */
export async function stageFiles(
  store: Store,
  manifest: Manifest,
  contentOf: (path: string) => Promise<Uint8Array>,
): Promise<Stored | GenerationRefusal> {
  const refusal = checkManifest(manifest, store.bounds);
  if (refusal !== null) return refusal;
  const digest = manifestDigest(store.ports.sha256, manifest);
  const present = await findPresent(store, digest);
  if (present !== null) return present;
  const swept = await sweep(store);
  if (swept !== null) return swept;
  const staging = newStaging(store, digest);
  let failed = await staging.put(MANIFEST, encode(manifestText(manifest)), "0444");
  for (const { path, mode } of manifest.files) {
    failed ??= await staging.put(path, await contentOf(path), mode);
  }
  return failed ?? await publish(store, manifest, digest);
}

/** Null when there is no such generation; it when it is whole. */
async function findPresent(
  store: Store,
  digest: string,
): Promise<Stored | GenerationRefusal | null> {
  const generation = generationPath(store.root, digest);
  const list = await store.ports.directories.list(generation, MOST_GENERATIONS);
  if (list.kind === "absent") return null;
  if (list.kind === "refused") return ofStore(list, "look for the generation");
  const refusal = await refuseDamaged(store, digest);
  if (refusal !== null) return refusal;
  const manifest = await loadManifest(store, digest);
  return "kind" in manifest ? manifest : { kind: "stored", digest, manifest, present: true };
}

function newStaging({ ports, root }: Store, digest: string) {
  const path = generationPath(root, `${STAGING}${digest}`);
  const made = new Set<string>();
  /** Makes `directory` and those above it, up to the staging directory, so that all may look in. */
  const make = async (directory: string): Promise<GenerationRefusal | null> => {
    if (made.has(directory)) return null;
    if (directory !== path) {
      const refusal = await make(parent(directory));
      if (refusal !== null) return refusal;
    }
    const outcome = await ports.directories.make(directory, 0o755);
    if (outcome.kind === "refused") return ofStore(outcome, "make a directory of the generation");
    made.add(directory);
    return null;
  };
  const put = async (
    name: string,
    bytes: Uint8Array,
    mode: "0444" | "0555",
  ): Promise<GenerationRefusal | null> => {
    const file = within(path, name);
    const refusal = await make(parent(file));
    if (refusal !== null) return refusal;
    const replaced = await ports.files.replaceFile(file, bytes, Number.parseInt(mode, 8));
    return replaced.kind === "refused" ? ofStore(replaced, "write a file of the generation") : null;
  };
  return { path, put };
}

/** What was written is read back before it gets its name. */
async function publish(
  store: Store,
  manifest: Manifest,
  digest: string,
): Promise<Stored | GenerationRefusal> {
  const staging = `${STAGING}${digest}`;
  const differences = await differencesOf(store, staging, manifest);
  if (differences.length > 0) return damaged(digest, differences);
  const to = generationPath(store.root, digest);
  const moved = await store.ports.directories.move(generationPath(store.root, staging), to);
  if (moved.kind === "refused") return ofStore(moved, "name the generation");
  return { kind: "stored", digest, manifest, present: false };
}

/** Removes what earlier runs left unfinished or half removed. The caller holds the lock. */
export async function sweep({ ports, root }: Store): Promise<GenerationRefusal | null> {
  const made = await ports.directories.make(generationsPath(root), 0o755);
  if (made.kind === "refused") return ofStore(made, "make the generations' directory");
  const list = await ports.directories.list(generationsPath(root), MOST_GENERATIONS);
  if (list.kind === "refused") return ofStore(list, "list the generations");
  for (const { name } of list.kind === "ok" ? list.entries : []) {
    if (!name.startsWith(STAGING) && !name.startsWith(REMOVING)) continue;
    const removed = await ports.directories.remove(generationPath(root, name));
    if (removed.kind === "refused") return ofStore(removed, "remove an unfinished generation");
  }
  return null;
}

/** The digests of all generations, in ascending order. */
export async function listGenerations(
  { ports, root }: Store,
): Promise<readonly string[] | GenerationRefusal> {
  const list = await ports.directories.list(generationsPath(root), MOST_GENERATIONS);
  if (list.kind === "refused") return ofStore(list, "list the generations");
  const entries = list.kind === "ok" ? list.entries : [];
  return entries.filter(({ name, kind }) => kind === "directory" && /^[0-9a-f]{64}$/.test(name))
    .map(({ name }) => name);
}

/** The manifest of a generation, which must be the one that names it. */
export async function loadManifest(
  store: Store,
  digest: string,
): Promise<Manifest | GenerationRefusal> {
  const path = manifestPath(generationPath(store.root, digest));
  const most = (store.bounds ?? BUNDLE_BOUNDS).manifestBytes;
  const found = await store.ports.files.readBounded(path, most);
  if (found.kind === "absent") {
    return generationRefusal("generation_unknown", `there is no generation ${short(digest)}`);
  }
  if (found.kind === "refused" && found.code === "file_unreadable") {
    return ofStore(found, "read a manifest");
  }
  const read = found.kind === "ok" ? readManifest(found.bytes, store.bounds) : null;
  const manifest = read?.kind === "ok" ? read.manifest : null;
  return manifest !== null && manifestDigest(store.ports.sha256, manifest) === digest
    ? manifest
    : damaged(digest, [{ path: MANIFEST, state: "differs" }]);
}

/** Every difference between a generation and its manifest. */
export async function verifyGeneration(
  store: Store,
  digest: string,
): Promise<
  { readonly manifest: Manifest; readonly differences: readonly Difference[] } | GenerationRefusal
> {
  const manifest = await loadManifest(store, digest);
  if ("kind" in manifest) return manifest;
  return { manifest, differences: await differencesOf(store, digest, manifest) };
}

/** Null when every byte, name and mode of the generation is as its manifest says. */
export async function refuseDamaged(
  store: Store,
  digest: string,
): Promise<GenerationRefusal | null> {
  const verified = await verifyGeneration(store, digest);
  if ("kind" in verified) return verified;
  return verified.differences.length === 0 ? null : damaged(digest, verified.differences);
}

async function differencesOf(
  { ports, root, keepsModes }: Store,
  name: string,
  manifest: Manifest,
): Promise<readonly Difference[]> {
  const listed = [
    { path: MANIFEST, mode: "0444", ...sumOf(ports, manifestText(manifest)) },
    ...manifest.files,
  ].map(({ mode, ...file }) => ({ ...file, executable: mode === "0555" }));
  return await compareTree(ports, generationPath(root, name), listed, keepsModes);
}

function sumOf({ sha256 }: GenerationPorts, text: string) {
  const bytes = encode(text);
  return { size: bytes.length, sha256: sha256(bytes).toHex() };
}

function damaged(digest: string, differences: readonly Difference[]): GenerationRefusal {
  const [first] = differences;
  const said = first === undefined ? "" : `: ${first.path} (${first.state})`;
  return generationRefusal(
    "generation_damaged",
    `generation ${short(digest)} differs from its manifest in ${differences.length} places${said}`,
    { nextStep: "move its directory away, then stage it again" },
  );
}

function digestDiffers(): GenerationRefusal {
  return generationRefusal(
    "generation_digest_differs",
    "the archive's manifest is not the one that was asked for",
  );
}

function boundsOf({ bounds }: Store) {
  return bounds === undefined ? {} : { bounds };
}

function short(digest: string): string {
  return digest.slice(0, 12);
}

function encode(text: string): Uint8Array {
  return new TextEncoder().encode(text);
}
