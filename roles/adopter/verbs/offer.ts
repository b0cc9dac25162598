/** `offer`: fetch the pointer and verify it; nothing is staged. @module */

import { candidateOf } from "../../../lib/adoption/candidate.ts";
import {
  type EnvelopeRefusal,
  type Floor,
  MOST_ENVELOPE_BYTES,
  type Offer,
  verifyEnvelope,
} from "../../../lib/adoption/envelope.ts";
import { MOST_TRUST_BYTES, readTrust, type Trust } from "../../../lib/adoption/keys.ts";
import { pointerTarget } from "../../../lib/adoption/publication.ts";
import { receipt } from "../../../lib/adoption/receipts.ts";
import type { Slots } from "../../../lib/adoption/slots.ts";
import { timestamp } from "../../../lib/core/clock.ts";
import type { Refusal } from "../../../lib/core/refusal.ts";
import { refuse } from "../../../lib/core/refusal.ts";
import type { Adopter } from "../adopter.ts";
import { fine, type Outcome, refusedBy } from "../outcome.ts";
import { offerSchema1 } from "./offer_schema1.ts";

/** Refusals that say: somebody, or something, gives us what is not meant for us. */
const QUIET: readonly string[] = ["no-candidate", "fetch-failed", "fetch-timeout"];

/** Asks the publisher once. */
export async function offer(adopter: Adopter): Promise<Outcome> {
  const { config, ports, records } = adopter;
  const trust = await trustOf(adopter);
  if ("kind" in trust) return await refusedOffer(adopter, trust);
  const fetched = await ports.download.document({
    url: `${config.publisher.url}${pointerTarget(config.host)}`,
    maxBytes: MOST_ENVELOPE_BYTES,
    deadlineMs: config.publisher.timeout_seconds * 1000,
  });
  if (fetched.kind === "unchanged") throw new Error("nothing was asked with an etag");
  if (fetched.kind === "refused") {
    const { code, detail } = fetched;
    if (code === "no-candidate") {
      const older = await offerSchema1(adopter, trust.trust);
      if (older !== null && "exit" in older) {
        await records.clear("stage");
        await adopter.summarize();
        return older;
      }
      if (older !== null && !QUIET.includes(older.code)) return await refusedOffer(adopter, older);
    }
    // Both are everyday things, and two different words: nothing there, nobody there.
    await records.contacted(code, code === "no-candidate");
    if (!QUIET.includes(code)) return await refusedOffer(adopter, fetched);
    await failWhenStale(adopter, code, detail);
    await adopter.summarize();
    return fine(code, detail);
  }
  const slots = await adopter.adoption.slots();
  const verified = await verifyEnvelope(fetched.bytes, trust.trust, {
    host: config.host,
    backend: config.backend,
    channel: config.channel,
    floor: floorOf(slots, config.channel),
    now: ports.clock.now(),
    builtAt: ports.builtAt,
  });
  if (verified.kind === "refused") return await refusedEnvelope(adopter, verified);
  await records.contacted("offered", true);
  await records.clear("stage");
  return await taken(adopter, slots, verified);
}

async function taken(adopter: Adopter, slots: Slots, verified: Offer): Promise<Outcome> {
  const { ports, records } = adopter;
  const at = timestamp(ports.clock.now());
  const candidate = candidateOf(verified);
  const known = slots.floor[candidate.channel];
  const data = { id: candidate.id, rev: candidate.rev, sequence: candidate.sequence };
  if (
    known?.payload_digest === verified.floor.payloadDigest && slots.offered !== null
  ) {
    await adopter.summarize();
    return fine("unchanged", `sequence ${candidate.sequence} is known`, data);
  }
  const withdrawn = [...verified.payload.withdrawn];
  const payload_digest = verified.floor.payloadDigest;
  await adopter.adoption.note({ kind: "offered", candidate, withdrawn, payload_digest, at });
  await records.add(
    receipt("offered", "offered", `sequence ${candidate.sequence}`, at, {
      path: candidate.id,
      rev: candidate.rev,
    }),
  );
  await adopter.summarize();
  return fine("offered", `sequence ${candidate.sequence}, revision ${candidate.rev}`, data);
}

async function refusedEnvelope(adopter: Adopter, refusal: EnvelopeRefusal): Promise<Outcome> {
  const { ports, records } = adopter;
  const { statement } = refusal;
  if (statement !== null) {
    await adopter.adoption.note({
      kind: "taken_back",
      channel: statement.payload.channel,
      sequence: statement.floor.sequence,
      payload_digest: statement.floor.payloadDigest,
      withdrawn: [...statement.payload.withdrawn],
      at: timestamp(ports.clock.now()),
    });
  }
  await records.contacted(refusal.code, statement !== null);
  return await refusedOffer(adopter, refusal);
}

async function refusedOffer(adopter: Adopter, refusal: Refusal): Promise<Outcome> {
  const { ports, records } = adopter;
  const { code, detail, nextStep } = refusal;
  const at = timestamp(ports.clock.now());
  await records.add(receipt("offer-refused", code, detail, at));
  await records.fail("stage", code, detail);
  await adopter.summarize();
  return refusedBy(code, detail, nextStep);
}

/** Silence is nothing at first, and loud when it lasts. */
async function failWhenStale(adopter: Adopter, code: string, detail: string): Promise<void> {
  const { config, ports, records } = adopter;
  const contact = await records.contact();
  const since = contact?.ok_at ?? null;
  if (since === null) return;
  const age = ports.clock.now() - Date.parse(since);
  if (age > config.policy.stale_after_hours * 3_600_000) {
    await records.fail("stage", "publisher_silent", `${code}: ${detail}; last answer at ${since}`);
  }
}

async function trustOf(adopter: Adopter): Promise<{ readonly trust: Trust } | Refusal> {
  const { config, ports } = adopter;
  const read = await ports.files.readBounded(config.publisher.trust, MOST_TRUST_BYTES);
  if (read.kind === "absent") {
    return refuse("trust_absent", "there is no trust file", "copy it from the publisher");
  }
  if (read.kind === "refused") return refuse("trust_unreadable", read.detail);
  const trust = await readTrust(read.bytes);
  return trust.kind === "ok" ? { trust: trust.trust } : trust;
}

function floorOf(slots: Slots, channel: string): Floor | null {
  const floor = slots.floor[channel];
  return floor === undefined
    ? null
    : { sequence: floor.sequence, payloadDigest: floor.payload_digest };
}
