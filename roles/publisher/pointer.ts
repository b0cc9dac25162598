/**
 * A host's pointer: read by its own signature, moved in one rename. Its number is taken, durably,
 * before anything is signed with it, so that a number is never on two payloads, whenever this dies.
 *
 *     reserve a number ─ sign ─ verify as a host would ─ rename
 *
 * @module
 */

import { z } from "zod";
import {
  CLOCK_SKEW_MS,
  MOST_ENVELOPE_BYTES,
  openEnvelope,
  verifyEnvelope,
} from "../../lib/adoption/envelope.ts";
import type { Payload } from "../../lib/adoption/envelope_payload.ts";
import { signEnvelope } from "../../lib/adoption/envelope_sign.ts";
import { timestamp } from "../../lib/core/clock.ts";
import { readJson } from "../../lib/core/strict_json.ts";
import { parent } from "../../lib/host/paths.ts";
import type { HostConfig, PublisherConfig } from "./config.ts";
import type { Keyring } from "./keyring.ts";
import { pointerPath, sequencePath } from "./layout.ts";
import { no, ofDisk, type PublisherPorts, type PublisherRefusal } from "./ports.ts";

type PointerPorts = Pick<PublisherPorts, "files" | "directories" | "clock">;

/** What is published for a host now; null when nothing is. */
export async function readPointer(
  { files, clock }: Pick<PointerPorts, "files" | "clock">,
  root: string,
  host: string,
  keyring: Keyring,
): Promise<Payload | PublisherRefusal | null> {
  const read = await files.readBounded(pointerPath(root, host), MOST_ENVELOPE_BYTES);
  if (read.kind === "absent") return null;
  if (read.kind === "refused" && read.code !== "file_too_large") return ofDisk(read, "read it");
  const opened = read.kind === "ok"
    ? await openEnvelope(read.bytes, keyring.trust, clock.now())
    : null;
  if (opened?.kind === "opened") return opened.payload;
  return no(
    "pointer_damaged",
    `the pointer of ${host} is none of ours: ${opened?.code ?? "it is too large"}`,
    "find out who wrote it; move it away, then publish again",
  );
}

/** A payload without what moving it decides. */
export type Draft = Omit<Payload, "signed_by" | "sequence" | "issued_at" | "expires_at">;

/** Signs `draft` and makes it the pointer of its host. The caller holds the lock. */
export async function movePointer(
  ports: PointerPorts,
  config: PublisherConfig,
  keyring: Keyring,
  draft: Draft,
  before: Payload | null,
  above: number,
): Promise<Payload | PublisherRefusal> {
  const now = ports.clock.now();
  if (before !== null && now + CLOCK_SKEW_MS < Date.parse(before.issued_at)) {
    return no(
      "clock_backwards",
      `the pointer there was issued at ${before.issued_at}, it is ${timestamp(now)} here`,
      "set the clock",
    );
  }
  const known = before?.channel === draft.channel ? before.sequence : 0;
  const sequence = await reserve(ports, config.root, draft, Math.max(known, above));
  if (typeof sequence !== "number") return sequence;
  const payload = {
    ...draft,
    sequence,
    issued_at: timestamp(now),
    expires_at: timestamp(now + config.validity_hours * 3_600_000),
  };
  const bytes = await signEnvelope(payload, keyring.signing);
  const { host, backend, channel } = draft;
  const expected = { host, backend, channel, floor: null, now, builtAt: 0 };
  const checked = await verifyEnvelope(bytes, keyring.trust, expected);
  const taken = checked.kind === "offer" ? checked : checked.statement;
  if (taken === null) throw new Error(`signed what no host would take: ${checked.kind}`);
  const moved = await ports.files.replaceFile(pointerPath(config.root, host), bytes, 0o644);
  if (moved.kind === "ok") return taken.payload;
  return moved.code === "file_sync_unknown"
    ? no("pointer_unsure", "the pointer moved; whether it survives a power cut is not known")
    : ofDisk(moved, "move the pointer; the old one stands");
}

const sequenceShape = z.strictObject({ schema: z.literal(1), reserved: z.int().min(0) });

/** Takes the next number for good. */
async function reserve(
  { files, directories }: PointerPorts,
  root: string,
  { host, channel }: Pick<HostConfig, "channel"> & { readonly host: string },
  above: number,
): Promise<number | PublisherRefusal> {
  const path = sequencePath(root, host, channel);
  const read = await files.readBounded(path, 1024);
  if (read.kind === "refused") return ofDisk(read, "read the sequence");
  let reserved = 0;
  if (read.kind === "ok") {
    const json = readJson(read.bytes, { bytes: 1024, depth: 2, values: 8 });
    const shaped = json.kind === "ok" ? sequenceShape.safeParse(json.value).data : undefined;
    if (shaped === undefined) {
      return no(
        "sequence_damaged",
        `nobody knows which numbers ${host} was given`,
        "move the file away and publish with --sequence-above the highest a host has seen",
      );
    }
    reserved = shaped.reserved;
  }
  const next = Math.max(reserved, above) + 1;
  if (!Number.isSafeInteger(next)) return no("sequence_exhausted", "there is no next number");
  const made = await directories.make(parent(path));
  if (made.kind === "refused") return ofDisk(made, "make the folder of sequences");
  const bytes = new TextEncoder().encode(`${JSON.stringify({ schema: 1, reserved: next })}\n`);
  const written = await files.replaceFile(path, bytes, 0o600);
  // Also when it is there and perhaps not for long: such a number could come twice.
  return written.kind === "ok" ? next : ofDisk(written, "take the next number");
}
