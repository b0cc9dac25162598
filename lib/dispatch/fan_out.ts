/**
 * Many hosts at once, a bounded number at a time.
 *
 * @module
 */

/** Hosts at once; each holds one connection. */
export const MOST_AT_ONCE = 64;

/** Bytes of all answers together that a fan-out may keep, and the least that one host may send. */
const ALL_ANSWERS_BYTES = 24 * 1024 * 1024;
const LEAST_ANSWER_BYTES = 24 * 1024;
const MOST_ANSWER_BYTES = 16 * 1024 * 1024;

/** Bytes that the answer of each of `hosts` may have. */
export function answerBytesFor(hosts: number): number {
  const share = Math.floor(ALL_ANSWERS_BYTES / Math.max(1, hosts));
  return Math.min(MOST_ANSWER_BYTES, Math.max(LEAST_ANSWER_BYTES, share));
}

/**
 * Calls `visit` for each of `items`, `atOnce` at a time. After `signal` no further one is begun;
 * what is begun is waited for. Gives what each gave, in the order of `items`; null for one that was
 * not begun or that has nothing true to say.
 */
export async function fanOut<Item, Gave>(
  items: readonly Item[],
  visit: (item: Item) => Promise<Gave | null>,
  { atOnce, signal, onGave }: {
    readonly atOnce: number;
    readonly signal: AbortSignal;
    readonly onGave: (gave: Gave) => void;
  },
): Promise<readonly (Gave | null)[]> {
  const given: (Gave | null)[] = items.map(() => null);
  let next = 0;
  const worker = async () => {
    while (next < items.length && !signal.aborted) {
      const at = next++;
      const gave = await visit(items[at] as Item);
      given[at] = gave;
      if (gave !== null) onGave(gave);
    }
  };
  await Promise.all(Array.from({ length: Math.min(atOnce, items.length) }, worker));
  return given;
}
