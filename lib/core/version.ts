/**
 * Which software this is.
 *
 * @module
 */

/** Semantic version of all six binaries. */
export const VERSION = "0.1.0";

/** Stands in the source once; a bundle has {@link stampOf} in its place. */
export const STAMP: string = "anvil-build-stamp:source";

/** What `--version --json` prints. */
export interface Build {
  readonly name: string;
  readonly version: string;
  /** SHA-256 that names the programs of a bundle, on every platform; null when it runs from source. */
  readonly build_digest: string | null;
  /** The commit it was built from, `-dirty` behind it when the tree differed. Absent from source. */
  readonly commit?: string;
  /** Version of the runtime. */
  readonly deno: string;
  /** Operating system and processor, as `linux-x86_64`. */
  readonly platform: string;
}

/** The stamp of a build. */
export function stampOf(digest: string, commit: string | null): string {
  return `anvil-build-stamp:${digest}:${commit ?? "unknown"}`;
}

/** What a stamp says; that of the source says nothing. Throws for one that nobody wrote. */
export function readStamp(stamp: string): Pick<Build, "build_digest" | "commit"> {
  if (stamp.endsWith(":source")) return { build_digest: null };
  const found = /^anvil-build-stamp:([0-9a-f]{64}):(unknown|[0-9a-f]{40,64}(?:-dirty)?)$/.exec(
    stamp,
  );
  const [, digest, commit] = found ?? [];
  if (digest === undefined || commit === undefined) throw new Error("the build's stamp is damaged");
  return commit === "unknown" ? { build_digest: digest } : { build_digest: digest, commit };
}
