/**
 * Which software this is.
 *
 * @module
 */

/** Semantic version of all six binaries. */
export const VERSION = "0.1.0";

/** What `--version --json` prints. */
export interface Build {
  readonly name: string;
  readonly version: string;
  /** SHA-256 of the bundle this runs from; null when it runs from source. */
  readonly build_digest: string | null;
  /** Version of the runtime. */
  readonly deno: string;
  /** Operating system and processor, as `linux-x86_64`. */
  readonly platform: string;
}
