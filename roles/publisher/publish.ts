/**
 * From something built to what a host is offered.
 *
 *     lock ─ its own revision ─ bytes in place and read back, or in the cache ─ number ─ sign ─ rename
 *
 * The pointer moves last. Whenever this dies before that, the old one stands, and all it names with
 * it; blobs that nothing names yet are found there by the next run.
 *
 * @module
 */

import {
  MOST_WITHDRAWN,
  type Payload,
  STORE_PATH_PATTERN,
  type Target,
  targetIdOf,
} from "../../lib/adoption/envelope_payload.ts";
import { timestamp } from "../../lib/core/clock.ts";
import { parent, within } from "../../lib/host/paths.ts";
import type { HostConfig, PublisherConfig } from "./config.ts";
import { loadKeyring } from "./keyring.ts";
import { blobPath, lockPath, pointerPath } from "./layout.ts";
import { findClosure } from "./nix_cache.ts";
import { movePointer, readPointer } from "./pointer.ts";
import { locked, no, ofDisk, type PublisherPorts, type PublisherRefusal } from "./ports.ts";
import {
  MOST_REVISION_BYTES,
  readRevision,
  refuseRevision,
  type Revision,
  REVISION_NAME,
  revisionMissing,
} from "./revision.ts";
import { revisionOfTree, storeTree } from "./tree.ts";

/** Where the bytes are. */
export type Source =
  | { readonly kind: "store-path"; readonly path: string }
  | { readonly kind: "tree"; readonly path: string };

/** What to publish. */
export interface PublishAsk {
  readonly host: string;
  readonly source: Source;
  readonly rev: string;
  /** ISO 8601, for a tree whose own revision does not say; null otherwise. */
  readonly committedAt: string | null;
  readonly requiresReboot: boolean;
  readonly allowDowngradeFrom: readonly string[];
  /** Offer again what was withdrawn. */
  readonly reinstate: boolean;
  /** The number must be higher than this. */
  readonly sequenceAbove: number;
}

/** What a host is offered now. */
export interface Published {
  /** `refreshed`: the same target as before, valid for longer. */
  readonly kind: "published" | "refreshed" | "withdrawn";
  readonly payload: Payload;
  /** Blobs that were not there before. */
  readonly written: number;
}

/** The host's part of the configuration. */
export function hostOf(config: PublisherConfig, id: string): HostConfig | PublisherRefusal {
  return config.hosts.find((host) => host.id === id) ??
    no("host_unknown", `${id} is not described in publisher.toml`, "add a [[hosts]] section");
}

/** Publishes. */
export async function publish(
  ports: PublisherPorts,
  config: PublisherConfig,
  ask: PublishAsk,
): Promise<Published | PublisherRefusal> {
  const host = hostOf(config, ask.host);
  if ("kind" in host) return host;
  if ((host.backend === "nixos") !== (ask.source.kind === "store-path")) {
    const wanted = host.backend === "nixos" ? "--store-path" : "--tree";
    return no("source_wrong", `${host.id} is a ${host.backend} host`, `publish with ${wanted}`);
  }
  return await asWriter(ports, config, async () => {
    const keyring = await loadKeyring(ports, config.keys);
    if (keyring.kind === "refused") return keyring;
    const before = await readPointer(ports, config.root, host.id, keyring);
    if (before !== null && "kind" in before) return before;
    const revision = await revisionOf(ports, ask.source);
    if (revision.kind === "refused") return revision;
    const committedAt = revision.committedAt ?? ask.committedAt;
    const wrong = refuseRevision(revision, ask.rev);
    if (wrong !== null) return wrong;
    if (committedAt === null) return noTime();
    const placed = await place(ports, config, ask.source);
    if ("detail" in placed) return placed;
    const target = targetIdOf(placed.target);
    const same = before !== null && targetIdOf(before.target) === target;
    const withdrawn = before?.withdrawn ?? [];
    const unmeant = ask.reinstate ? null : refuseWithdrawn(withdrawn, target);
    const older = same ? null : refuseOlder(before, committedAt, ask.allowDowngradeFrom);
    if (unmeant !== null || older !== null) return unmeant ?? older as PublisherRefusal;
    const kept = same ? before : null;
    const meant = ask.allowDowngradeFrom.length > 0 ? ask.allowDowngradeFrom : null;
    const payload = await movePointer(
      ports,
      config,
      keyring,
      {
        schema: 2,
        host: host.id,
        backend: host.backend,
        channel: host.channel,
        built_at: kept?.built_at ?? revision.builtAt ?? timestamp(ports.clock.now()),
        rev: { id: ask.rev, dirty: false, committed_at: committedAt },
        target: placed.target,
        sizes: placed.sizes,
        requires_reboot: ask.requiresReboot || revision.requiresReboot,
        restart_sensitive: host.restart_sensitive,
        allow_downgrade_from: [...meant ?? kept?.allow_downgrade_from ?? []],
        withdrawn: withdrawn.filter((one) => one !== target),
      },
      before,
      ask.sequenceAbove,
    );
    if ("kind" in payload) return payload;
    return { kind: same ? "refreshed" : "published", payload, written: placed.written };
  });
}

/** Takes back a target: the one offered now, or one that was offered before. */
export async function withdraw(
  ports: PublisherPorts,
  config: PublisherConfig,
  id: string,
  target: string | null,
): Promise<Published | PublisherRefusal> {
  const host = hostOf(config, id);
  if ("kind" in host) return host;
  return await asWriter(ports, config, async () => {
    const keyring = await loadKeyring(ports, config.keys);
    if (keyring.kind === "refused") return keyring;
    const before = await readPointer(ports, config.root, host.id, keyring);
    if (before === null) return no("no-candidate", `nothing is published for ${host.id}`);
    if ("kind" in before) return before;
    const { sequence: _number, issued_at: _from, expires_at: _to, signed_by: _by, ...draft } =
      before;
    const gone = target ?? targetIdOf(before.target);
    if (before.withdrawn.includes(gone)) {
      return { kind: "withdrawn", payload: before, written: 0 };
    }
    const withdrawn = [...before.withdrawn, gone].slice(-MOST_WITHDRAWN);
    const payload = await movePointer(ports, config, keyring, { ...draft, withdrawn }, before, 0);
    return "kind" in payload ? payload : { kind: "withdrawn", payload, written: 0 };
  });
}

/** Does `act` as the one who changes what is published. */
export async function asWriter<Outcome>(
  ports: PublisherPorts,
  config: PublisherConfig,
  act: () => Promise<Outcome>,
): Promise<Outcome | PublisherRefusal> {
  for (const path of [pointerPath(config.root, "x"), blobPath(config.root, "x")]) {
    const made = await ports.directories.make(parent(path), 0o755);
    if (made.kind === "refused") return ofDisk(made, "make the folder of what is published");
  }
  return await locked(ports, lockPath(config.root), config.lock_seconds * 1000, act);
}

async function revisionOf(
  ports: PublisherPorts,
  source: Source,
): Promise<Revision | PublisherRefusal> {
  if (source.kind === "tree") return await revisionOfTree(ports, source.path);
  if (!STORE_PATH_PATTERN.test(source.path)) {
    return no("store_path_malformed", "expected /nix/store/<hash>-<name>, and nothing behind it");
  }
  const read = await ports.files.readBounded(
    within(source.path, REVISION_NAME),
    MOST_REVISION_BYTES,
  );
  if (read.kind === "ok") return readRevision(read.bytes);
  return read.kind === "absent" ? revisionMissing() : ofDisk(read, `read ${REVISION_NAME}`);
}

/** Bytes that are where hosts find them. */
interface Placed {
  readonly target: Target;
  readonly sizes: Payload["sizes"];
  readonly written: number;
}

async function place(
  ports: PublisherPorts,
  config: PublisherConfig,
  source: Source,
): Promise<Placed | PublisherRefusal> {
  if (source.kind === "tree") {
    const stored = await storeTree(ports, config.root, source.path);
    if (stored.kind === "refused") return stored;
    const { digest, manifestSize, download, unpacked, written } = stored;
    return {
      target: { kind: "bundle", digest, manifest_size: manifestSize },
      sizes: { download, unpacked },
      written,
    };
  }
  if (config.nix === undefined) return no("cache_missing", "publisher.toml has no [nix] section");
  const found = await findClosure(ports.download, config.nix, source.path, ports.progress);
  if (found.kind === "refused") return found;
  const { narHash, download, unpacked } = found;
  return {
    target: { kind: "store-path", store_path: source.path, nar_hash: narHash },
    sizes: { download, unpacked },
    written: 0,
  };
}

function noTime(): PublisherRefusal {
  return no(
    "committed_at_missing",
    "the candidate does not say when its revision was committed",
    "pass --committed-at, as `git log -1 --format=%cI` has it, in UTC",
  );
}

function refuseWithdrawn(withdrawn: readonly string[], target: string): PublisherRefusal | null {
  return withdrawn.includes(target)
    ? no("target_withdrawn", "this target was withdrawn", "if it is good after all: --reinstate")
    : null;
}

/** Hosts that have the newer one would refuse the older one: better said here. */
function refuseOlder(
  before: Payload | null,
  committedAt: string,
  allowed: readonly string[],
): PublisherRefusal | null {
  if (before === null || Date.parse(committedAt) >= Date.parse(before.rev.committed_at)) {
    return null;
  }
  return allowed.includes(before.rev.id) ? null : no(
    "downgrade_unmeant",
    `committed at ${committedAt}, and ${before.rev.id} of ${before.rev.committed_at} is published`,
    `if that is meant: --allow-downgrade-from ${before.rev.id}`,
  );
}
