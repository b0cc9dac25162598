/**
 * A candidate as the adopter keeps it: what of a verified envelope matters after it was verified.
 *
 * @module
 */

import type { Offer } from "./envelope.ts";
import type { Backend } from "./envelope_payload.ts";

/** How a candidate is put in place. */
export type BackendKind = Backend;

/** One immutable thing for one host. `id` names the bytes: a store path, or `sha256:` and a digest. */
export type Candidate = {
  readonly id: string;
  readonly backend: BackendKind;
  readonly channel: string;
  readonly sequence: number;
  readonly rev: string;
  /** ISO 8601, of the revision. */
  readonly committed_at: string;
  readonly issued_at: string;
  readonly expires_at: string;
  /** What the backend checks the target by: a NAR hash, or a digest. Empty: schema 1 names none. */
  readonly hash: string;
  /** Bytes of a bundle's manifest; 0 for a store path. */
  readonly manifest_size: number;
  /** Bytes of the whole, unpacked; 0 when the publisher did not say. */
  readonly size: number;
  /** Bytes that have to be fetched at most; 0 when the publisher did not say. */
  readonly download_size: number;
  /** Units whose restart only a person may cause. */
  readonly restart_sensitive: readonly string[];
  /** Revisions from which this candidate may be a step back. */
  readonly allow_downgrade_from: readonly string[];
};

/** The candidate of a verified offer. */
export function candidateOf({ payload, target }: Offer): Candidate {
  const bundle = payload.target.kind === "bundle" ? payload.target : null;
  return {
    id: target,
    backend: payload.backend,
    channel: payload.channel,
    sequence: payload.sequence,
    rev: payload.rev.id,
    committed_at: payload.rev.committed_at,
    issued_at: payload.issued_at,
    expires_at: payload.expires_at,
    hash: payload.target.kind === "bundle" ? payload.target.digest : payload.target.nar_hash,
    manifest_size: bundle?.manifest_size ?? 0,
    size: payload.sizes.unpacked,
    download_size: payload.sizes.download,
    restart_sensitive: payload.restart_sensitive,
    allow_downgrade_from: payload.allow_downgrade_from,
  };
}

/** True when the offer has run out at `now`, in milliseconds since the epoch. */
export function isExpired(candidate: Candidate, now: number): boolean {
  return !(Date.parse(candidate.expires_at) > now);
}

/** Why the offer of `candidate` may not be used any more; null: it may, or there was none. */
export function offerAgainst(
  candidate: Candidate | null,
  withdrawn: readonly string[],
  now: number,
): { readonly code: "candidate_withdrawn" | "expired"; readonly detail: string } | null {
  if (candidate === null) return null;
  if (withdrawn.includes(candidate.id)) {
    return { code: "candidate_withdrawn", detail: "the publisher took the candidate back" };
  }
  return isExpired(candidate, now)
    ? { code: "expired", detail: `the offer expired at ${candidate.expires_at}` }
    : null;
}
