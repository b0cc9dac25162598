/**
 * `current` and `previous`: which generation runs, and which one ran before.
 *
 *     previous = current ── then ── current = the new one
 *
 * Interrupted between the two, both name the generation that runs: nothing is switched, and the same
 * switch made again comes out as if it had not been interrupted. Each file is a digest and a newline,
 * so that a launcher of three lines can read it.
 *
 * @module
 */

import { type Pointer, pointerPath } from "./layout.ts";
import { type GenerationRefusal, generationRefusal, ofStore } from "./ports.ts";
import { refuseDamaged, type Store } from "./store.ts";

const TEXT = /^([0-9a-f]{64})\n$/;

/** Where both point; null: nowhere yet. */
export interface Pointers {
  readonly current: string | null;
  readonly previous: string | null;
}

/** Reads both. */
export async function readPointers(store: Store): Promise<Pointers | GenerationRefusal> {
  const current = await readPointer(store, "current");
  if (current !== null && typeof current !== "string") return current;
  const previous = await readPointer(store, "previous");
  if (previous !== null && typeof previous !== "string") return previous;
  return { current, previous };
}

async function readPointer(
  { ports, root }: Store,
  pointer: Pointer,
): Promise<string | null | GenerationRefusal> {
  const read = await ports.files.readBounded(pointerPath(root, pointer), 256);
  if (read.kind === "absent") return null;
  if (read.kind === "refused" && read.code === "file_unreadable") {
    return ofStore(read, `read \`${pointer}\``);
  }
  const digest = read.kind === "ok" ? TEXT.exec(new TextDecoder().decode(read.bytes))?.[1] : null;
  return digest ?? generationRefusal(
    "pointer_damaged",
    `\`${pointer}\` does not hold a digest and a newline`,
    { nextStep: "write the digest of a whole generation into it, or remove it" },
  );
}

/**
 * Makes `digest`, compared byte for byte first, the current generation, and the one before it the
 * previous. One that is current already stays so, and `previous` with it. The caller holds the lock.
 */
export async function switchTo(
  store: Store,
  digest: string,
): Promise<Pointers | GenerationRefusal> {
  const refusal = await refuseDamaged(store, digest);
  if (refusal !== null) return refusal;
  const before = await readPointers(store);
  if ("kind" in before) return before;
  if (before.current === digest) return before;
  if (before.current !== null && before.current !== before.previous) {
    const written = await writePointer(store, "previous", before.current);
    if (written !== null) return written;
  }
  const written = await writePointer(store, "current", digest);
  return written ?? { current: digest, previous: before.current };
}

/** Switches to the previous generation. The caller holds the lock. */
export async function switchBack(store: Store): Promise<Pointers | GenerationRefusal> {
  const before = await readPointers(store);
  if ("kind" in before) return before;
  if (before.previous === null || before.previous === before.current) {
    return generationRefusal("nothing_to_go_back_to", "no other generation was current before");
  }
  return await switchTo(store, before.previous);
}

async function writePointer(
  { ports, root }: Store,
  pointer: Pointer,
  digest: string,
): Promise<GenerationRefusal | null> {
  const bytes = new TextEncoder().encode(`${digest}\n`);
  const replaced = await ports.files.replaceFile(pointerPath(root, pointer), bytes, 0o644);
  // Replaced, and perhaps not past a power cut: what runs now reads the new one.
  if (replaced.kind === "ok" || replaced.code === "file_sync_unknown") return null;
  return ofStore(replaced, `replace \`${pointer}\``);
}
