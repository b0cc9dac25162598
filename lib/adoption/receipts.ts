/**
 * Receipts: the compact record. One per attempt; what repeats is counted, and each kind has a room of
 * its own, so that a thousand deferrals never push out the one rollback.
 *
 * @module
 */

import { z } from "zod";
import type { Reason } from "./gate.ts";
import { ENDINGS, type Last } from "./slots.ts";

/** Receipts that are no ending of an attempt. */
export const OTHER_RECEIPTS = [
  "offered",
  "offer-refused",
  "staged",
  "stage-failed",
  "waited",
  "said",
] as const;
/** What a receipt is about. */
export const RECEIPT_KINDS = [...ENDINGS, ...OTHER_RECEIPTS] as const;
/** One of {@link RECEIPT_KINDS}. */
export type ReceiptKind = (typeof RECEIPT_KINDS)[number];

/** Receipts kept of each kind. */
export const MOST_OF_A_KIND = 40;

const moment = z.string();
const receiptShape = z.strictObject({
  kind: z.enum(RECEIPT_KINDS),
  code: z.string(),
  detail: z.string(),
  path: z.string().nullable(),
  rev: z.string().nullable(),
  previous: z.string().nullable(),
  by: z.string().nullable(),
  why: z.string().nullable(),
  attempt: z.string().nullable(),
  reasons: z.array(z.strictObject({
    gate: z.string(),
    state: z.enum(["busy", "unknown", "rule"]),
    code: z.string(),
    detail: z.string(),
    observed_at: moment,
  })),
  evidence: z.json(),
  count: z.int().min(1),
  first: moment,
  last: moment,
});

/** One receipt. */
export type Receipt = z.infer<typeof receiptShape>;

/** The file of them. */
export const receiptsShape = z.strictObject({
  schema: z.literal(1),
  receipts: z.array(receiptShape),
});

/** A receipt of something that happened once, at `at`. */
export function receipt(
  kind: ReceiptKind,
  code: string,
  detail: string,
  at: string,
  more: Partial<Receipt> = {},
): Receipt {
  return {
    kind,
    code,
    detail,
    path: null,
    rev: null,
    previous: null,
    by: null,
    why: null,
    attempt: null,
    reasons: [],
    evidence: null,
    ...more,
    count: 1,
    first: at,
    last: at,
  };
}

/** The receipt of an attempt. */
export function receiptOf(last: Last): Receipt {
  const { ending } = last;
  const despite = last.overrides === null
    ? null
    : `despite ${last.overrides.rules.join(", ")}: ${last.overrides.why}`;
  return receipt(ending.kind, ending.code, ending.detail, last.ended_at, {
    path: last.path,
    rev: last.rev,
    previous: last.previous,
    by: last.by.who,
    why: despite,
    attempt: last.attempt,
    reasons: [...ending.reasons],
    evidence: ending.evidence as Receipt["evidence"],
  });
}

/**
 * Adds `one`, oldest first. The same again, right after itself among its kind, is counted; an attempt
 * that is on record already changes nothing.
 */
export function addReceipt(receipts: readonly Receipt[], one: Receipt): readonly Receipt[] {
  const ofKind = receipts.filter(({ kind }) => kind === one.kind);
  const newest = ofKind.at(-1);
  if (one.attempt !== null && receipts.some(({ attempt }) => attempt === one.attempt)) {
    return receipts;
  }
  if (newest !== undefined && sameMatter(newest, one)) {
    const again = { ...one, count: newest.count + 1, first: newest.first };
    return [...receipts.filter((other) => other !== newest), again];
  }
  const dropped = ofKind.length >= MOST_OF_A_KIND ? ofKind[0] : undefined;
  return [...receipts.filter((other) => other !== dropped), one];
}

/** The same thing about the same target for the same reasons, whenever it was. */
function sameMatter(left: Receipt, right: Receipt): boolean {
  const key = ({ code, path, previous, by, why, reasons }: Receipt) =>
    JSON.stringify([code, path, previous, by, why, reasons.map(reasonKey)]);
  return key(left) === key(right);
}

function reasonKey({ gate, state, code }: Reason): readonly string[] {
  return [gate, state, code];
}
