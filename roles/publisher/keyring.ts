/**
 * The signing keys on the disk: one file per key, mode 0600, its private half gone once it is
 * retired. Nothing here ever prints one.
 *
 *     init ─ signing ─ rotate ─ two sign ─ every host has the new trust file ─ retire ─ one signs
 *
 * @module
 */

import type { SigningKey } from "../../lib/adoption/envelope_sign.ts";
import {
  type KeyFile,
  MOST_KEY_BYTES,
  newKeyFile,
  readKeyFile,
} from "../../lib/adoption/key_file.ts";
import { MOST_KEYS, readTrust, type Trust, trustText } from "../../lib/adoption/keys.ts";
import { timestamp } from "../../lib/core/clock.ts";
import { within } from "../../lib/host/paths.ts";
import { keyPath } from "./layout.ts";
import { locked, no, ofDisk, type PublisherPorts, type PublisherRefusal } from "./ports.ts";

/** What may be shown of a key. */
export interface KeyFacts {
  readonly id: string;
  readonly state: "signing" | "retired";
  readonly created_at: string;
  readonly retired_at: string | null;
  /** 32 bytes in base64. */
  readonly public: string;
}

/** Every key there is, ready to sign and to verify with. */
export interface Keyring {
  readonly kind: "keyring";
  readonly facts: readonly KeyFacts[];
  readonly signing: readonly SigningKey[];
  /** In all of them, the retired ones too: what they signed is still ours. */
  readonly trust: Trust;
}

type KeyPorts = Pick<PublisherPorts, "files" | "directories" | "tryLock" | "clock">;

/** Reads every key. One that is not private, or not what it says, refuses all of them. */
export async function loadKeyring(
  { files, directories }: Pick<KeyPorts, "files" | "directories">,
  keys: string,
): Promise<Keyring | PublisherRefusal> {
  const list = await directories.list(keys, 256);
  if (list.kind === "refused") return ofDisk(list, "read the folder of keys");
  const names = list.kind === "absent"
    ? []
    : list.entries.map(({ name }) => name).filter((name) =>
      /^ed25519-[0-9a-f]{32}\.json$/.test(name)
    );
  if (names.length === 0) {
    return no("keys_absent", "there is no signing key", "anvil-publisher keys init");
  }
  const facts: KeyFacts[] = [];
  const signing: SigningKey[] = [];
  for (const name of names) {
    const path = within(keys, name);
    const privacy = await files.checkPrivate(path);
    if (privacy.kind !== "private") {
      const detail = privacy.kind === "absent" ? "it went away" : privacy.detail;
      return no("key_not_private", `${name}: ${detail}`, "chmod 600 it; if others read it, rotate");
    }
    const read = await files.readBounded(path, MOST_KEY_BYTES);
    if (read.kind !== "ok") {
      return read.kind === "absent" ? damaged(name) : ofDisk(read, "read a key");
    }
    const one = await readKeyFile(read.bytes);
    if (one === null || `${one.record.id}.json` !== name) return damaged(name);
    facts.push(factsOf(one.record));
    if (one.key !== null) signing.push({ id: one.record.id, key: one.key });
  }
  const trusted = await readTrust(new TextEncoder().encode(trustOf(facts)));
  if (trusted.kind === "refused") return no("key_damaged", trusted.detail);
  return { kind: "keyring", facts, signing, trust: trusted.trust };
}

/** The trust file of these keys; hosts get that of the ones that sign. */
export function trustOf(facts: readonly KeyFacts[]): string {
  return trustText(facts.map(({ id, public: raw, created_at }) => ({
    id,
    public: raw,
    added_at: created_at,
    expires_at: null,
  })));
}

/** Makes a key. `first`: only when there is none; otherwise only when there is one. */
export async function addKey(
  ports: KeyPorts,
  keys: string,
  first: boolean,
): Promise<KeyFacts | PublisherRefusal> {
  const made = await ports.directories.make(keys);
  if (made.kind === "refused") return ofDisk(made, "make the folder of keys");
  return await locked(ports, within(keys, "lock"), 0, async () => {
    const before = await loadKeyring(ports, keys);
    if (before.kind === "refused" && !(first && before.code === "keys_absent")) return before;
    const facts = before.kind === "keyring" ? before.facts : [];
    if (first && facts.length > 0) {
      return no("keys_exist", "there is a signing key already", "anvil-publisher keys rotate");
    }
    if (facts.length >= MOST_KEYS) {
      return no("keys_too_many", `expected at most ${MOST_KEYS} keys`, "remove a retired one");
    }
    const record = await newKeyFile(timestamp(ports.clock.now()));
    const bytes = new TextEncoder().encode(`${JSON.stringify(record)}\n`);
    const written = await ports.files.replaceFile(keyPath(keys, record.id), bytes, 0o600);
    if (written.kind === "refused") return ofDisk(written, "write the key");
    return factsOf(record);
  });
}

/** Stops signing with a key and forgets its private half. The last one stays. */
export async function retireKey(
  ports: KeyPorts,
  keys: string,
  id: string,
): Promise<KeyFacts | PublisherRefusal> {
  return await locked(ports, within(keys, "lock"), 0, async () => {
    const before = await loadKeyring(ports, keys);
    if (before.kind === "refused") return before;
    const found = before.facts.find((one) => one.id === id);
    if (found === undefined) {
      return no("key_absent", "there is no key of that id", "see `keys list`");
    }
    if (found.state === "retired") return found;
    if (before.signing.length === 1) {
      return no("key_last", "it is the only key that signs", "anvil-publisher keys rotate");
    }
    const retired_at = timestamp(ports.clock.now());
    const { created_at, public: raw } = found;
    const record = { schema: 1, id, public: raw, private: null, created_at, retired_at };
    const bytes = new TextEncoder().encode(`${JSON.stringify(record)}\n`);
    const written = await ports.files.replaceFile(keyPath(keys, id), bytes, 0o600);
    if (written.kind === "refused") return ofDisk(written, "retire the key");
    return { ...found, state: "retired", retired_at };
  });
}

function factsOf(record: KeyFile): KeyFacts {
  const { id, created_at, retired_at, public: raw } = record;
  return {
    id,
    state: record.private === null ? "retired" : "signing",
    created_at,
    retired_at,
    public: raw,
  };
}

function damaged(name: string): PublisherRefusal {
  return no(
    "key_damaged",
    `${name} is not what was written`,
    "restore it from your backup; a key that is lost is replaced by a new trust file on every host",
  );
}
