/**
 * When each host was last seen, and as what: so that a host that does not answer looks old, and not
 * only absent. Observations, never configuration: losing the file loses nothing else.
 *
 *     <home>/seen.json
 *
 * @module
 */

import { z } from "zod";
import { timestamp } from "../../lib/core/clock.ts";
import type { Files } from "../../lib/core/files.ts";
import { type Refusal, refuse } from "../../lib/core/refusal.ts";
import { readJson } from "../../lib/core/strict_json.ts";
import type { Outcome } from "../../lib/dispatch/outcome.ts";
import { checkShape } from "../../lib/document/shape.ts";
import { within } from "../../lib/host/paths.ts";
import { type Adoption, adoptionShape } from "./adoption_seen.ts";

const sighting = z.strictObject({
  at: z.iso.datetime(),
  version: z.string().max(128),
  build_digest: z.string().max(128).nullable(),
  started_at: z.string().max(64),
  /** The last time it told; absent when it never did. */
  adoption: adoptionShape.optional(),
});
const seenShape = z.strictObject({
  schema: z.literal(1),
  hosts: z.record(z.string(), sighting),
});

/** What a host was when it was last seen. */
export type Sighting = z.infer<typeof sighting>;
/** Sightings by host. */
export type Seen = ReadonlyMap<string, Sighting>;

const MOST_BYTES = 8 * 1024 * 1024;

/** What an agent that answered is remembered as; null when it was not proven, or says too little. */
export function sightingOf({ health }: Pick<Outcome, "health">, now: number): Sighting | null {
  if (health === null) return null;
  const { version, build_digest, started_at } = health;
  const read = checkShape(sighting, { at: timestamp(now), version, build_digest, started_at });
  return read.kind === "ok" ? read.model : null;
}

/** The same with what the host says of its adoption, or said before. */
export function withAdoption(
  sighting: Sighting,
  now: Adoption | null,
  before: Sighting | undefined,
): Sighting {
  const adoption = now ?? before?.adoption;
  return adoption === undefined ? sighting : { ...sighting, adoption };
}

/** What is remembered; nothing when there is no file yet. */
export async function readSeen(files: Files, home: string): Promise<Seen | Refusal> {
  const read = await files.readBounded(seenPath(home), MOST_BYTES);
  if (read.kind === "absent") return new Map();
  if (read.kind === "refused") return read;
  const json = readJson(read.bytes, { bytes: MOST_BYTES, depth: 8, values: 1_000_000 });
  const shaped = json.kind === "ok" ? checkShape(seenShape, json.value) : json;
  return shaped.kind === "ok"
    ? new Map(Object.entries(shaped.model.hosts))
    : refuse("seen_damaged", "what was seen before cannot be read; it is begun anew");
}

/** Remembers. Of two commands at once the later one's picture stays. */
export async function writeSeen(
  files: Files,
  home: string,
  seen: Seen,
): Promise<Refusal | null> {
  const text = JSON.stringify({ schema: 1, hosts: Object.fromEntries([...seen].sort()) });
  const bytes = new TextEncoder().encode(`${text}\n`);
  const replaced = await files.replaceFile(seenPath(home), bytes, 0o600);
  return replaced.kind === "ok" ? null : replaced;
}

function seenPath(home: string): string {
  return within(home, "seen.json");
}
