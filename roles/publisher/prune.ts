/**
 * Lets go of blobs that no pointer names any more. A host may still be fetching what it was offered a
 * while ago: only what was written long ago goes, and what a pointer names never does.
 *
 * @module
 */

import { hex } from "../../lib/core/ids.ts";
import { BUNDLE_BOUNDS, readManifest } from "../../lib/generation/manifest.ts";
import type { AgedFile, AgedFiles } from "../../lib/host/old_files.ts";
import { parent } from "../../lib/host/paths.ts";
import type { DirectoryRefusal } from "../../lib/core/directories.ts";
import type { PublisherConfig } from "./config.ts";
import { loadKeyring } from "./keyring.ts";
import { blobPath, pointerPath } from "./layout.ts";
import { readPointer } from "./pointer.ts";
import { no, ofDisk, type PublisherPorts, type PublisherRefusal } from "./ports.ts";
import { asWriter } from "./publish.ts";

/** What pruning needs besides. */
export interface PrunePorts extends PublisherPorts {
  readonly filesOlderThan: (path: string, before: number) => Promise<AgedFiles>;
  readonly removeFiles: (
    path: string,
    names: readonly string[],
  ) => Promise<DirectoryRefusal | null>;
}

/** What went, or would go. */
export interface Pruned {
  readonly kind: "pruned";
  readonly files: readonly AgedFile[];
  /** Blobs that a pointer names. */
  readonly named: number;
}

/** Removes blobs that no pointer names and that are older than `days`; `dryRun`: only says which. */
export async function prune(
  ports: PrunePorts,
  config: PublisherConfig,
  days: number,
  dryRun: boolean,
): Promise<Pruned | PublisherRefusal> {
  return await asWriter(ports, config, async () => {
    const named = await namedBlobs(ports, config);
    if ("kind" in named) return named;
    const folder = parent(blobPath(config.root, "x"));
    const old = await ports.filesOlderThan(folder, ports.clock.now() - days * 86_400_000);
    if (old.kind === "refused") return ofDisk(old, "read the folder of blobs");
    // A blob, or what a crash left of one; nothing else that somebody put there.
    const files = old.files.filter(({ name }) =>
      /^([0-9a-f]{64}|\.[0-9a-f]{64}\.[0-9a-f]+\.tmp)$/.test(name) && !named.has(name)
    );
    const refusal = dryRun ? null : await ports.removeFiles(folder, files.map(({ name }) => name));
    if (refusal !== null) return ofDisk(refusal, "remove a blob");
    return { kind: "pruned", files, named: named.size };
  });
}

/** Every blob that some pointer names. One pointer that cannot be followed keeps all blobs. */
async function namedBlobs(
  ports: PublisherPorts,
  { root, keys }: PublisherConfig,
): Promise<ReadonlySet<string> | PublisherRefusal> {
  const keyring = await loadKeyring(ports, keys);
  if (keyring.kind === "refused") return keyring;
  // By what is there, not by the configuration: a host may have been taken out of it.
  const list = await ports.directories.list(parent(pointerPath(root, "x")), 10_000);
  if (list.kind === "refused") return ofDisk(list, "read the folder of pointers");
  const named = new Set<string>();
  for (const { name } of list.kind === "ok" ? list.entries : []) {
    const host = /^([a-z][a-z0-9-]{0,62})\.json$/.exec(name)?.[1];
    if (host === undefined) continue;
    const payload = await readPointer(ports, root, host, keyring);
    if (payload === null) continue;
    if ("kind" in payload) return payload;
    if (payload.target.kind !== "bundle") continue;
    const digest = payload.target.digest.slice("sha256:".length);
    const read = await ports.files.readBounded(blobPath(root, digest), BUNDLE_BOUNDS.manifestBytes);
    const whole = read.kind === "ok" && hex(ports.sha256(read.bytes)) === digest;
    const manifest = whole ? readManifest(read.bytes) : null;
    if (manifest?.kind !== "ok") {
      return no(
        "blob_damaged",
        `the manifest that the pointer of ${host} names is not whole`,
        "publish it again",
      );
    }
    named.add(digest);
    for (const { sha256 } of manifest.manifest.files) named.add(sha256);
  }
  return named;
}
