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
  /** When that commit was made, ISO 8601: the same for every build of it. Absent from source. */
  readonly built_at?: string;
  /** Version of the runtime. */
  readonly deno: string;
  /** Operating system and processor, as `linux-x86_64`. */
  readonly platform: string;
}

/** The stamp of a build; `builtAt` in whole seconds since the epoch, as git counts. */
export function stampOf(digest: string, commit: string | null, builtAt: number | null): string {
  return `anvil-build-stamp:${digest}:${commit ?? "unknown"}:${builtAt ?? "unknown"}`;
}

/** What a stamp says; that of the source says nothing. Throws for one that nobody wrote. */
export function readStamp(stamp: string): Pick<Build, "build_digest" | "commit" | "built_at"> {
  if (stamp.endsWith(":source")) return { build_digest: null };
  const found =
    /^anvil-build-stamp:([0-9a-f]{64}):(unknown|[0-9a-f]{40,64}(?:-dirty)?):(unknown|\d{1,11})$/
      .exec(stamp);
  const [, digest, commit, seconds] = found ?? [];
  if (digest === undefined || commit === undefined || seconds === undefined) {
    throw new Error("the build's stamp is damaged");
  }
  return {
    build_digest: digest,
    ...(commit === "unknown" ? {} : { commit }),
    ...(seconds === "unknown" ? {} : { built_at: new Date(Number(seconds) * 1000).toISOString() }),
  };
}
