/**
 * What generations need of the world, and how bundles and the store say no.
 *
 * @module
 */

import type { Directories } from "../core/directories.ts";
import type { Files } from "../core/files.ts";
import { type Refusal, refuse } from "../core/refusal.ts";

/** The ports. */
export interface GenerationPorts {
  readonly files: Files;
  readonly directories: Directories;
  readonly sha256: (data: Uint8Array | string) => Uint8Array;
}

/** Why an archive is not taken. Each names one way in which it is not what the writer writes. */
export type ArchiveFault =
  | "archive_truncated" // it ends before what its manifest lists
  | "archive_trailing_bytes" // something follows its end
  | "archive_unreadable" // whoever sends it failed
  | "archive_length_differs" // it is not as long as was said
  | "archive_header_damaged" // not a header of ours: sum, magic or fields
  | "archive_header_differs" // size, mode, time or owner are not what the manifest says
  | "archive_padding" // bytes where only zeros may be
  | "archive_link"
  | "archive_device"
  | "archive_entry_unsupported" // directories, extensions, sparse files
  | "archive_duplicate"
  | "archive_unlisted_file"
  | "archive_out_of_order"
  | "archive_file_missing"
  | "archive_path_unsafe"
  | "file_digest_differs";

/** Why a manifest is not taken. */
export type ManifestFault =
  | "manifest_missing" // the archive does not begin with one
  | "manifest_too_large"
  | "manifest_malformed" // not JSON of this shape
  | "manifest_not_canonical" // another spelling of the same: its digest would be another
  | "bundle_path_unsafe"
  | "bundle_path_collision"
  | "bundle_too_many_files"
  | "bundle_file_too_large"
  | "bundle_too_large";

/** Why the store does not do something. */
export type StoreFault =
  | "generation_unknown"
  | "generation_damaged" // a byte, name or mode differs from the manifest
  | "generation_digest_differs" // the manifest is not the one that was asked for
  | "pointer_damaged" // `current` or `previous` is not what was written
  | "nothing_to_go_back_to"
  | "store_unusable"
  | "store_no_space";

/** Every code of this room. */
export type GenerationFault = ArchiveFault | ManifestFault | StoreFault;

/** A refusal of this room. Its detail holds no path of the host. */
export interface GenerationRefusal extends Refusal<GenerationFault> {
  /** For the log: may hold a path. */
  readonly cause?: string;
}

/** Makes a {@link GenerationRefusal}. */
export function generationRefusal(
  code: GenerationFault,
  detail: string,
  more: { readonly nextStep?: string; readonly cause?: string } = {},
): GenerationRefusal {
  const refusal = refuse(code, detail, more.nextStep);
  return more.cause === undefined ? refusal : { ...refusal, cause: more.cause };
}

/** What the file system's refusals mean for a store. */
export function ofStore(
  refusal: Refusal & { readonly cause: string },
  doing: string,
): GenerationRefusal {
  const full = refusal.code.endsWith("_no_space");
  return generationRefusal(
    full ? "store_no_space" : "store_unusable",
    full ? `the disk is full: could not ${doing}` : `could not ${doing}: ${refusal.detail}`,
    {
      nextStep: full ? "free space, then try again" : "check owner and permissions of the store",
      cause: `${refusal.code}: ${refusal.cause}`,
    },
  );
}
