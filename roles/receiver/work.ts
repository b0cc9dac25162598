/**
 * One host under its lock, with its journal open: what was begun before is finished first.
 *
 * @module
 */

import type { BootstrapCode } from "../../lib/bootstrap/codes.ts";
import { decodeEntry, type ReceiverEntry } from "../../lib/bootstrap/journal_entry.ts";
import {
  type ReceiverEffect,
  type ReceiverEvent,
  receiverMachine,
  type ReceiverState,
} from "../../lib/bootstrap/receiver_machine.ts";
import type { Journal } from "../../lib/core/journal.ts";
import { CorruptLine } from "../../lib/core/json_lines.ts";
import { drive, recall } from "../../lib/core/machine.ts";
import { type Refusal, refuse } from "../../lib/core/refusal.ts";
import { readPointers, switchTo } from "../../lib/generation/pointer.ts";
import type { GenerationRefusal } from "../../lib/generation/ports.ts";
import type { Store } from "../../lib/generation/store.ts";
import { causeOf, codeOf, isNoSpace } from "../../lib/host/os_error.ts";
import { within } from "../../lib/host/paths.ts";
import type { ReceiverPorts } from "./ports.ts";
import { restartUnit } from "./supervisor.ts";
import type { Target, TargetConfig } from "./target.ts";

/** Where the journal says that an operation stands. */
export interface Stand {
  readonly state: ReceiverState;
  /** True when something was begun whose end is not written down. */
  readonly unfinished: boolean;
}

/** What a request works with. */
export interface Work {
  readonly store: Store;
  /** After everything that was owed was paid. */
  readonly state: ReceiverState;
  /** Takes an event in, and pays what is then owed. */
  readonly offer: (event: ReceiverEvent) => Promise<ReceiverState>;
  readonly look: () => Promise<Stand>;
}

/** The store of a target. */
export function storeOf(ports: ReceiverPorts, { root, supervisor }: TargetConfig): Store {
  return { ports, root, keepsModes: supervisor !== "windows-task" };
}

/** Locks, opens, finishes what was begun, and does `act`. */
export async function withWork<Outcome>(
  ports: ReceiverPorts,
  { config }: Target,
  act: (work: Work) => Promise<Outcome>,
): Promise<Outcome | Refusal<BootstrapCode>> {
  for (const path of [config.state, config.root]) {
    const made = await ports.directories.make(path, path === config.root ? 0o755 : 0o700);
    if (made.kind === "refused") return ofStorage(ports, made);
  }
  const lock = await ports.tryLock(within(config.state, "lock"));
  if (lock.kind === "refused") return ofStorage(ports, lock);
  if (lock.kind === "busy") return refuse("receiver_busy", "another connection changes this host");
  await using _held = lock;
  const opened = await ports.openJournal(within(config.state, "receiver.jsonl"), decodeEntry);
  if (opened.kind === "busy") return refuse("receiver_busy", "the journal is in use");
  if (opened.kind === "refused") {
    ports.remark(opened.cause);
    return refuse("storage_failed", "the journal cannot be opened");
  }
  await using journal = opened.journal;
  const store = storeOf(ports, config);
  const perform = (effect: ReceiverEffect) => performed(ports, store, config, effect);
  const offer = (event?: ReceiverEvent) => drive(receiverMachine, journal, perform, event);
  try {
    return await act({ store, state: await offer(), offer, look: () => lookAt(journal) });
  } catch (error) {
    if (error instanceof CorruptLine) {
      ports.remark(error.message);
      return refuse("journal_damaged", "the receiver's journal is damaged");
    }
    // A line could not be written: what it says did not happen, and the next request goes on there.
    if (!/^E[A-Z]+$/.test(codeOf(error))) throw error;
    ports.remark(causeOf(error));
    return isNoSpace(error)
      ? refuse("no_space", "the disk is full")
      : refuse("storage_failed", "the receiver's journal cannot be written");
  }
}

/** What the journal says, without paying anything. */
export async function lookAt(journal: Journal<ReceiverEntry>): Promise<Stand> {
  const { state, unfinished } = recall(receiverMachine, await journal.read());
  return { state, unfinished: unfinished !== null || receiverMachine.owed(state) !== null };
}

async function performed(
  ports: ReceiverPorts,
  store: Store,
  config: TargetConfig,
  effect: ReceiverEffect,
): Promise<ReceiverEvent> {
  if (effect.type === "restart") {
    const code = await restartUnit(ports, config);
    return code === null ? { type: "restarted" } : { type: "failed", code };
  }
  const pointers = await readPointers(store);
  if ("kind" in pointers) {
    ports.remark(`${pointers.code}: ${pointers.detail}`);
    return { type: "failed", code: "ownership_uncertain" };
  }
  // Somebody else moved it: it is not ours to move again.
  const current = pointers.current ?? "none";
  if (current !== effect.from && current !== effect.to) {
    return { type: "failed", code: "ownership_uncertain" };
  }
  const switched = await switchTo(store, effect.to);
  if (!("kind" in switched)) return { type: "switched" };
  ports.remark(`${switched.code}: ${switched.cause ?? switched.detail}`);
  return { type: "failed", code: codeOfStore(switched, "activation_failed") };
}

/** Null when the store can be pointed with: its file system replaces a name at once. */
export async function refuseReplace(
  { probeReplace, remark }: ReceiverPorts,
  { root }: TargetConfig,
): Promise<Refusal<BootstrapCode> | null> {
  const probed = await probeReplace(root);
  if (probed.kind === "atomic") return null;
  remark(`replace probe: ${probed.kind}: ${probed.cause}`);
  if (probed.kind === "no_space") return refuse("no_space", "the disk is full");
  return probed.kind === "unwritable"
    ? refuse("storage_failed", "the store cannot be written to")
    : refuse("no_atomic_replace", "the store's file system cannot replace a name at once");
}

/** What a refusal of the store is called on the wire. */
export function codeOfStore(
  { code }: GenerationRefusal,
  fallback: BootstrapCode,
): BootstrapCode {
  if (code === "store_no_space") return "no_space";
  if (code === "store_unusable") return "storage_failed";
  if (code === "generation_unknown" || code === "generation_damaged") return "generation_not_whole";
  return code === "generation_digest_differs" ? "digest_mismatch" : fallback;
}

function ofStorage(
  { remark }: ReceiverPorts,
  refusal: Refusal & { readonly cause: string },
): Refusal<BootstrapCode> {
  remark(`${refusal.code}: ${refusal.cause}`);
  return refusal.code.endsWith("_no_space")
    ? refuse("no_space", "the disk is full")
    : refuse("storage_failed", "the receiver's folders cannot be used");
}
