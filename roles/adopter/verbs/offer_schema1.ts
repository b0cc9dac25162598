/** The manifest of schema 1, for hosts that come from it: only while `publisher.schema1` names it. @module */

import type { Candidate } from "../../../lib/adoption/candidate.ts";
import { MOST_SCHEMA1_BYTES, verifySchema1 } from "../../../lib/adoption/envelope_schema1.ts";
import type { Trust } from "../../../lib/adoption/keys.ts";
import { receipt } from "../../../lib/adoption/receipts.ts";
import { timestamp } from "../../../lib/core/clock.ts";
import { type Refusal, refuse } from "../../../lib/core/refusal.ts";
import type { Adopter } from "../adopter.ts";
import { fine, type Outcome } from "../outcome.ts";

/**
 * Asks for the manifest and its `.sig`. Null: this host does not look for one, or there is none. Such
 * an offer has no expiry and names no hash: trust in the bytes is the cache's alone.
 */
export async function offerSchema1(
  adopter: Adopter,
  trust: Trust,
): Promise<Outcome | Refusal | null> {
  const { config, ports, records } = adopter;
  const { schema1, url, timeout_seconds } = config.publisher;
  if (schema1 === undefined || config.backend !== "nixos") return null;
  const get = (target: string) =>
    ports.download.document({
      url: `${url}${target}`,
      maxBytes: MOST_SCHEMA1_BYTES,
      deadlineMs: timeout_seconds * 1000,
    });
  const manifest = await get(schema1);
  if (manifest.kind === "refused") return manifest.code === "no-candidate" ? null : manifest;
  const signature = await get(`${schema1}.sig`);
  if (manifest.kind !== "ok" || signature.kind !== "ok") {
    return refuse("signature_absent", "the manifest has no signature beside it");
  }
  const channel = floorKey(config.channel);
  const slots = await adopter.adoption.slots();
  const verified = await verifySchema1(manifest.bytes, signature.bytes, trust, {
    host: config.host,
    channel: config.channel,
    floorBuiltAt: slots.floor[channel]?.sequence ?? null,
    now: ports.clock.now(),
  });
  if (verified.kind === "refused") return verified;
  const candidate = candidateOf(verified.manifest, verified.floorBuiltAt, channel);
  const at = timestamp(ports.clock.now());
  const payload_digest = ports.sha256(manifest.bytes).toHex();
  const data = { id: candidate.id, rev: candidate.rev, sequence: candidate.sequence };
  await records.contacted("offered", true);
  if (slots.floor[channel]?.payload_digest === payload_digest && slots.offered !== null) {
    return fine("unchanged", "the manifest of schema 1 is known", data);
  }
  await adopter.adoption.note({ kind: "offered", candidate, withdrawn: [], payload_digest, at });
  const more = { path: candidate.id, rev: candidate.rev };
  await records.add(receipt("offered", "offered", "by a manifest of schema 1", at, more));
  return fine("offered", `revision ${candidate.rev}, by a manifest of schema 1`, data);
}

/** Its times are no sequence of the channel: they have a floor of their own. */
function floorKey(channel: string): string {
  return `${channel} (schema 1)`;
}

function candidateOf(
  manifest: {
    readonly store_path: string;
    readonly rev: string;
    readonly built_at: string;
  },
  sequence: number,
  channel: string,
): Candidate {
  return {
    id: manifest.store_path,
    backend: "nixos",
    channel,
    sequence,
    rev: manifest.rev,
    committed_at: manifest.built_at,
    issued_at: manifest.built_at,
    expires_at: "9999-12-31T23:59:59Z",
    ...{ hash: "", manifest_size: 0, size: 0, download_size: 0 },
    ...{ restart_sensitive: [], allow_downgrade_from: [] },
  };
}
