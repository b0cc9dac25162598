/**
 * Which generations may go. The one that runs, the one before it and whatever somebody names stay:
 * of a pointer that cannot be read nobody knows what it names, so then nothing goes.
 *
 * @module
 */

import { generationPath, REMOVING } from "./layout.ts";
import { readPointers } from "./pointer.ts";
import { type GenerationRefusal, ofStore } from "./ports.ts";
import { listGenerations, type Store, sweep } from "./store.ts";

/** What went. */
export interface Retired {
  readonly kind: "retired";
  readonly removed: readonly string[];
  readonly kept: readonly string[];
}

/** Removes every generation but current, previous and `pins`. The caller holds the lock. */
export async function retire(
  store: Store,
  pins: Iterable<string>,
): Promise<Retired | GenerationRefusal> {
  const pointers = await readPointers(store);
  if ("kind" in pointers) return pointers;
  const swept = await sweep(store);
  if (swept !== null) return swept;
  const present = await listGenerations(store);
  if ("kind" in present) return present;
  const pinned = new Set<string | null>([...pins, pointers.current, pointers.previous]);
  const removed: string[] = [];
  for (const digest of present) {
    if (pinned.has(digest)) continue;
    const refusal = await removeGeneration(store, digest);
    if (refusal !== null) return refusal;
    removed.push(digest);
  }
  return { kind: "retired", removed, kept: present.filter((digest) => pinned.has(digest)) };
}

/** Takes its name away at once, then its files: no half of a generation is ever found by its name. */
async function removeGeneration(
  { ports, root }: Store,
  digest: string,
): Promise<GenerationRefusal | null> {
  const away = generationPath(root, `${REMOVING}${digest}`);
  const moved = await ports.directories.move(generationPath(root, digest), away);
  if (moved.kind === "refused") return ofStore(moved, "take a generation's name away");
  const removed = await ports.directories.remove(away);
  return removed.kind === "refused" ? ofStore(removed, "remove a generation") : null;
}
