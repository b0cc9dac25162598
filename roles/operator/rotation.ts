/**
 * A rotation over several hosts, so that one that was cut short, or could not reach every host, goes
 * on with the hosts that are left and leaves the others as they are.
 *
 *     <store>/.rotation/record.json     whom it is for, and who is done; gone when all are
 *             .rotation.lock            one at a time
 *
 * @module
 */

import * as z from "zod";
import { timestamp } from "../../lib/core/clock.ts";
import { ID_PATTERN } from "../../lib/core/ids.ts";
import type { HeldLock } from "../../lib/core/lock.ts";
import { type Refusal, refuse } from "../../lib/core/refusal.ts";
import { parseJson } from "../../lib/home/receipt.ts";
import { within } from "../../lib/host/paths.ts";
import type { Operator } from "./operator.ts";
import { unusable } from "./token_store.ts";

/** An older one is begun anew: what it made has been in use for a day. */
const MOST_AGE_MS = 86_400_000;
const MOST_BYTES = 4 * 1024 * 1024;

const recordShape = z.strictObject({
  schema: z.literal(1),
  at: z.iso.datetime(),
  hosts: z.array(z.string().regex(ID_PATTERN)),
  /** Host to when its new token was in its place. */
  done: z.record(z.string(), z.iso.datetime()),
});

type Record = z.infer<typeof recordShape>;

/** A rotation that is under way here. */
export interface Rotation extends AsyncDisposable {
  readonly kind: "rotation";
  /** When it began; null when it began just now. */
  readonly resumedFrom: string | null;
  /** When that host was done by an earlier command; null when it is to be done. */
  readonly doneAt: (host: string) => string | null;
  /** Writes down that one is done. */
  readonly mark: (host: string) => Promise<Refusal | null>;
  /** Hosts that are left; nothing is kept of a rotation without any. */
  readonly end: () => Promise<readonly string[] | Refusal>;
}

/** The folder of an unfinished one, in a token store. */
export const ROTATION = ".rotation";

/**
 * The rotation that covers `hosts`: the one that was left, or a fresh one. `anew` drops what was left.
 */
export async function openRotation(
  { ports }: Pick<Operator, "ports">,
  store: string,
  hosts: readonly string[],
  anew: boolean,
): Promise<Rotation | Refusal> {
  const { clock, directories, files, tryLock } = ports;
  const folder = within(store, ROTATION);
  const path = within(folder, "record.json");
  const made = await directories.make(store);
  if (made.kind === "refused") return unusable(made);
  const lock = await tryLock(within(store, ".rotation.lock"));
  if (lock.kind === "refused") return unusable(lock);
  if (lock.kind === "busy") {
    return refuse("store_busy", "another rotation over this store is under way", "wait for it");
  }
  const left = await files.readBounded(path, MOST_BYTES);
  if (left.kind === "refused") return await given(lock, unusable(left));
  const before = left.kind === "ok" ? parseJson(recordShape, left.bytes) : null;
  const now = clock.now();
  const young = before !== null && now - Date.parse(before.at) < MOST_AGE_MS;
  let record: Record = young && !anew
    // Hosts that joined since are rotated as well.
    ? { ...before, hosts: [...new Set([...before.hosts, ...hosts])] }
    : { schema: 1, at: timestamp(now), hosts: [...hosts], done: {} };
  const write = async (next: Record): Promise<Refusal | null> => {
    const folded = await directories.make(folder);
    if (folded.kind === "refused") return unusable(folded);
    const bytes = new TextEncoder().encode(`${JSON.stringify(next)}\n`);
    const written = await files.replaceFile(path, bytes, 0o600);
    if (written.kind === "refused") return unusable(written);
    record = next;
    return null;
  };
  const no = await write(record);
  if (no !== null) return await given(lock, no);
  return {
    kind: "rotation",
    resumedFrom: young && !anew ? record.at : null,
    doneAt: (host) => record.done[host] ?? null,
    mark: (host) => write({ ...record, done: { ...record.done, [host]: timestamp(clock.now()) } }),
    end: async () => {
      const open = record.hosts.filter((host) => record.done[host] === undefined);
      if (open.length > 0) return open;
      const removed = await directories.remove(folder);
      return removed.kind === "refused" ? unusable(removed) : [];
    },
    [Symbol.asyncDispose]: () => lock.release(),
  };
}

async function given(lock: HeldLock, refusal: Refusal): Promise<Refusal> {
  await lock.release();
  return refusal;
}
