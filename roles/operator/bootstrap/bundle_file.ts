/**
 * The bundle that is going to be installed: an archive on this machine, read as strictly as the
 * receiver will.
 *
 * @module
 */

import type { Plan } from "../../../lib/bootstrap/plan.ts";
import { type Refusal, refuse } from "../../../lib/core/refusal.ts";
import { BUNDLE_BOUNDS } from "../../../lib/generation/manifest.ts";
import { readArchive } from "../../../lib/generation/read_archive.ts";
import type { Operator } from "../operator.ts";
import { refuseGiven } from "./given_file.ts";

/** An archive, and what a plan says of it. */
export interface BundleFile {
  readonly kind: "bundle";
  readonly bytes: Uint8Array<ArrayBuffer>;
  readonly facts: Plan["bundle"];
  readonly platform: Plan["platform"];
}

/** Contents, their headers and the manifest. */
const MOST_BYTES = BUNDLE_BOUNDS.bytes + 8 * 1024 * 1024;

/** Reads the archive at `path`: one that holds an agent for a platform that can be bootstrapped. */
export async function readBundleFile(
  { files, sha256 }: Pick<Operator["ports"], "files" | "sha256">,
  path: string,
): Promise<BundleFile | Refusal> {
  const read = await files.readBounded(path, MOST_BYTES);
  if (read.kind === "absent") {
    return refuse("file_absent", "there is no file where --bundle points");
  }
  if (read.kind === "refused") return refuseGiven("--bundle", read);
  const { bytes } = read;
  const fine = () => Promise.resolve(null);
  const archive = await readArchive(sha256, once(bytes), { manifest: fine, file: fine });
  if (archive.kind === "refused") return archive;
  const { manifest, digest } = archive;
  const { build, platform, version } = manifest;
  if (build === null || platform === null || !manifest.roles.includes("agent")) {
    return refuse(
      "bundle_refused",
      "the bundle holds no agent of a known build and platform",
      "name an archive that `make bundle` made",
    );
  }
  if (platform.os === "darwin") {
    return refuse("unsupported_platform", "macOS hosts cannot be bootstrapped in this version");
  }
  return {
    kind: "bundle",
    bytes,
    facts: { manifest_digest: digest, length: bytes.length, build_digest: build.digest, version },
    platform: { os: platform.os, arch: platform.arch },
  };
}

async function* once(bytes: Uint8Array): AsyncGenerator<Uint8Array, void, void> {
  yield await Promise.resolve(bytes);
}
