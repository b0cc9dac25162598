/**
 * The answers a measurement was made of: one line per answer, in the order of the corpus. Parity
 * compares them; nobody publishes them, for a corpus may be private.
 *
 *     {"prompt":"arith-001","repeat":0,"output":"4","tokens":["4"],"top":[[["4",-0.01],["5",-5.2]]],…}
 *
 * @module
 */

import { z } from "zod";
import { canonicalJson, type Json } from "../core/canonical_json.ts";
import type { Checked, Problem } from "../core/problem.ts";
import { readJson } from "../core/strict_json.ts";
import { checkShape } from "../document/shape.ts";
import { digestOf, spelling } from "./evidence.ts";
import { textShape } from "./evidence_shape.ts";

/** No file of records is larger, in bytes. */
export const MOST_RECORDS_BYTES = 64 * 1024 * 1024;
/** Lines a file may have. */
export const MOST_RECORDS = 20_000;
/** Bytes of one line. */
export const MOST_RECORD_BYTES = 8 * 1024 * 1024;
/** Alternatives kept of one token. */
export const MOST_TOP = 20;

const logprob = z.number().min(-1e9).max(1).describe("Natural logarithm of the probability.");

/** One answer. */
export const recordShape = z.strictObject({
  prompt: textShape(128).describe("Which prompt of the corpus."),
  repeat: z.int().min(0).max(1_000_000).describe("0 is the first time it was asked."),
  output: z.string().describe("The whole text of the answer."),
  tokens: z.array(z.string()).max(1_000_000).nullable().describe(
    "The answer by tokens as the engine tells them; null: it does not.",
  ),
  top: z.array(z.array(z.tuple([z.string(), logprob])).max(MOST_TOP)).nullable().describe(
    "For each token the likeliest ones, with their logprobs; null: not offered.",
  ),
  finish: z.enum(["stop", "length", "content_filter", "tool_calls", "other"]).nullable(),
  refusal: z.boolean().describe("The engine itself says that this is a refusal."),
  error: textShape(64).nullable().describe("Why there is no whole answer; null: there is."),
  ttft_ms: z.number().min(0).nullable(),
  total_ms: z.number().min(0).nullable(),
});

/** One answer. */
export type AnswerRecord = z.infer<typeof recordShape>;

/** The one spelling of records: a line each. */
export function recordsText(records: readonly AnswerRecord[]): string {
  return records.map((one) => `${canonicalJson(one as Json)}\n`).join("");
}

/** Reads a file of records; `expected` is the digest its document names. */
export async function readRecords(
  bytes: Uint8Array<ArrayBuffer>,
  expected: string,
): Promise<Checked<readonly AnswerRecord[]>> {
  if (bytes.length > MOST_RECORDS_BYTES) {
    return bad(
      "records_too_large",
      `observed ${bytes.length} bytes, expected at most ${MOST_RECORDS_BYTES}`,
    );
  }
  const digest = await digestOf(bytes);
  if (digest !== expected) {
    return bad("records_tampered", `the document names other records, ${expected.slice(0, 12)}…`);
  }
  const lines = linesOf(bytes);
  if (lines === null) return bad("records_torn", "the last line has no end");
  if (lines.length > MOST_RECORDS) {
    return bad("records_too_many", `observed ${lines.length}, expected at most ${MOST_RECORDS}`);
  }
  const problems: Problem[] = [];
  const records: AnswerRecord[] = [];
  const seen = new Set<string>();
  for (const [at, line] of lines.entries()) {
    const read = readRecord(line);
    if (read.kind === "invalid") {
      problems.push(...read.problems.map((one) => ({ ...one, line: at + 1 })));
      // A file that is another thing altogether need not be told line by line.
      if (problems.length >= 100) break;
      continue;
    }
    const key = `${read.model.repeat} ${read.model.prompt}`;
    if (seen.has(key)) {
      const message = "this prompt was answered before, in the same repeat";
      problems.push({ path: "prompt", code: "record_twice", message, line: at + 1 });
    }
    seen.add(key);
    records.push(read.model);
  }
  return problems.length > 0 ? { kind: "invalid", problems } : { kind: "ok", model: records };
}

function readRecord(line: Uint8Array): Checked<AnswerRecord> {
  const read = readJson(line, { bytes: MOST_RECORD_BYTES, depth: 6, values: 4_000_000 });
  if (read.kind === "refused") return bad(read.code, read.detail);
  const shaped = checkShape(recordShape, read.value);
  if (shaped.kind === "invalid") return shaped;
  const record = shaped.model;
  const problems = spelling(line, canonicalJson(record as Json));
  if (record.top !== null && record.top.length !== record.tokens?.length) {
    problems.push({
      path: "top",
      code: "record_contradicts",
      message: "expected one list of alternatives for each token",
    });
  }
  return problems.length > 0 ? { kind: "invalid", problems } : shaped;
}

/** The lines without their ends; null when the last one has none. */
function linesOf(bytes: Uint8Array): readonly Uint8Array[] | null {
  const lines: Uint8Array[] = [];
  let start = 0;
  for (let end = bytes.indexOf(10); end !== -1; end = bytes.indexOf(10, start)) {
    lines.push(bytes.subarray(start, end));
    start = end + 1;
  }
  return start === bytes.length ? lines : null;
}

function bad(
  code: string,
  message: string,
): { readonly kind: "invalid"; readonly problems: readonly Problem[] } {
  return { kind: "invalid", problems: [{ path: "$", code, message }] };
}
