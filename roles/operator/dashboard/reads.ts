/**
 * What the dashboard may ask a node: this table and nothing else. Each is a read, asked for with
 * nothing to say; the node's own catalogue must call it one too, or it is not sent (`look`).
 *
 *     fast     at every look
 *     slow     at every {@link SLOW_EVERY}th look, and at the first
 *     follow   after a slow one, where its answer gives reason to: about one serve each
 *
 * @module
 */

import type { Ask } from "../../../lib/dispatch/ask.ts";
import { CANDIDATES_STATUS } from "../adoption_seen.ts";

/** How often it is asked for. */
type Beat = "fast" | "slow" | "follow";

/** The table. */
export const READS = {
  "router.status": "fast",
  "node.identity": "slow",
  "serves.list": "slow",
  "serves.identity": "follow",
  [CANDIDATES_STATUS]: "slow",
} as const satisfies Readonly<Record<string, Beat>>;

/** One of the operations of {@link READS}. */
export type ReadName = keyof typeof READS;

/** Every so manieth look at a host is a slow one. */
export const SLOW_EVERY = 4;

/** A question out of the table. */
export type ReadAsk = Extract<Ask, { readonly kind: "call" }>;

/** What a look asks. */
export function asksOf(slow: boolean): readonly ReadAsk[] {
  return (Object.keys(READS) as ReadName[])
    .filter((name) => READS[name] === "fast" || (slow && READS[name] === "slow"))
    .map((name) => ({
      ...{ kind: "call", name, input: {}, dryRun: false, confirm: false },
      key: `${name.replaceAll(".", "-")}-is-a-read`,
    }));
}

/** True for what the table has. */
export function isAllowed({ name, dryRun }: Pick<ReadAsk, "name" | "dryRun">): boolean {
  return Object.hasOwn(READS, name) && !dryRun;
}
