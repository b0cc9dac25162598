/**
 * How a node hands over what it measured, by `benchmarks.result`: the document whole, the records in
 * pieces, for they may be larger than one answer.
 *
 *     {"id":"bench-…","records_from":null}      the document, no records
 *     {"id":"bench-…","records_from":0}         and the first piece of them
 *     {"id":"bench-…","records_from":1048576}   and the piece that begins there, until `next` is null
 *
 * Whoever receives it believes nothing of it but the digests: {@link readHandover}, then readEvidence.
 *
 * @module
 */

import { z } from "zod";
import type { Json } from "../core/canonical_json.ts";
import type { Checked } from "../core/problem.ts";
import { checkShape } from "../document/shape.ts";
import { EVIDENCE_ID_PATTERN } from "./evidence.ts";
import { digestShape, MOST_EVIDENCE_BYTES, textShape } from "./evidence_shape.ts";
import { MOST_RECORDS_BYTES } from "./record.ts";

/** Bytes of records in one piece. */
export const PIECE_BYTES = 1024 * 1024;

const offset = z.int().min(0).max(MOST_RECORDS_BYTES);

/** What `benchmarks.result` is asked. */
export const resultInputShape = z.strictObject({
  id: textShape(128).describe("The run."),
  records_from: offset.nullable().default(null).describe(
    "Where the piece of records begins, in bytes; null: none is wanted.",
  ),
});

/** What it gives. */
export const handoverShape = z.strictObject({
  id: textShape(128),
  state: textShape(64).describe("Of the run: as benchmarks.status says it."),
  evidence: z.strictObject({
    id: z.string().regex(EVIDENCE_ID_PATTERN),
    text: z.string().max(MOST_EVIDENCE_BYTES),
  }).nullable().describe("Null: the run is not finished, or left nothing to measure."),
  records: z.strictObject({
    digest: digestShape,
    bytes: offset.describe("Of the whole file."),
    from: offset,
    piece: z.base64().max(PIECE_BYTES * 2).describe("Its bytes from there."),
    next: offset.nullable().describe("Where the next piece begins; null: this was the last."),
  }).nullable(),
});

/** What a node handed over. */
export type Handover = z.infer<typeof handoverShape>;

/** One piece of a file of records. */
export function pieceOf(
  records: Uint8Array,
  digest: string,
  from: number,
): NonNullable<Handover["records"]> {
  const end = Math.min(records.length, from + PIECE_BYTES);
  return {
    digest,
    bytes: records.length,
    from,
    piece: records.slice(from, end).toBase64(),
    next: end < records.length ? end : null,
  };
}

/** Reads what a node said. */
export function readHandover(value: Json): Checked<Handover> {
  return checkShape(handoverShape, value);
}
