/**
 * Which source a candidate says it was built from. Nobody's word but its own counts: the file
 * `anvil-revision.json` in it, or the manifest of `make bundle`.
 *
 * @module
 */

import { z } from "zod";
import { REV_PATTERN } from "../../lib/adoption/envelope_payload.ts";
import { firstIssue, momentShape } from "../../lib/adoption/keys.ts";
import { timestamp } from "../../lib/core/clock.ts";
import { readJson } from "../../lib/core/strict_json.ts";
import type { Manifest } from "../../lib/generation/manifest.ts";
import { no, type PublisherRefusal } from "./ports.ts";

/** The file's name, at the top of the tree or closure. */
export const REVISION_NAME = "anvil-revision.json";

/** No revision file is larger, in bytes. */
export const MOST_REVISION_BYTES = 4096;

/** A moment, or, as Nix has it, seconds since the epoch. */
const moment = z.union([
  momentShape,
  z.int().min(0).max(253_402_300_799).transform((seconds) => timestamp(seconds * 1000)),
]);

/** `anvil-revision.json`. */
export const revisionShape = z.strictObject({
  rev: z.string().regex(REV_PATTERN),
  dirty: z.boolean(),
  committed_at: moment,
  built_at: moment.optional(),
  requires_reboot: z.boolean().optional(),
});

/** What a candidate says of itself. */
export interface Revision {
  readonly kind: "revision";
  readonly rev: string;
  readonly dirty: boolean;
  /** Null: it does not say. */
  readonly committedAt: string | null;
  readonly builtAt: string | null;
  readonly requiresReboot: boolean;
}

/** Reads the file's bytes. */
export function readRevision(bytes: Uint8Array): Revision | PublisherRefusal {
  const read = readJson(bytes, { bytes: MOST_REVISION_BYTES, depth: 2, values: 16 });
  if (read.kind === "refused") return malformed(read.detail);
  const shaped = revisionShape.safeParse(read.value);
  if (!shaped.success) return malformed(firstIssue(shaped.error));
  const { rev, dirty, committed_at, built_at = null, requires_reboot = false } = shaped.data;
  return {
    kind: "revision",
    rev,
    dirty,
    committedAt: committed_at,
    builtAt: built_at,
    requiresReboot: requires_reboot,
  };
}

/** What the manifest of `make bundle` says; null when it says nothing of a commit. */
export function revisionOfManifest({ build }: Manifest): Revision | null {
  const commit = build?.commit ?? null;
  if (commit === null) return null;
  return {
    kind: "revision",
    rev: commit.replace(/-dirty$/, ""),
    dirty: commit.endsWith("-dirty"),
    committedAt: null,
    builtAt: null,
    requiresReboot: false,
  };
}

/** Null when the candidate is of exactly the revision that was asked for, and of no changes beside it. */
export function refuseRevision(found: Revision, asked: string): PublisherRefusal | null {
  if (found.dirty) {
    return no(
      "rev_dirty",
      "the candidate was built from a tree with changes that no commit holds",
      "commit them, and build again",
    );
  }
  // `github:owner/repo/<rev>` names the same source as `<rev>`.
  return found.rev === asked || asked.endsWith(`/${found.rev}`) ? null : no(
    "rev_differs",
    `the candidate says it was built from ${found.rev}, expected ${asked}`,
    "publish what was built from that revision",
  );
}

/** There is no such file. */
export function revisionMissing(): PublisherRefusal {
  return no(
    "revision_missing",
    `the candidate has no ${REVISION_NAME} and so does not say what it was built from`,
    "let the build write it: see docs/guides/publishing.md",
  );
}

function malformed(detail: string): PublisherRefusal {
  return no("revision_malformed", `${REVISION_NAME}: ${detail}`, "let the build write it again");
}
