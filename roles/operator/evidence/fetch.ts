/**
 * Takes over what a node measured: the document, then its records piece by piece. Nothing is kept
 * that is not what its digests say, or not of the node that was asked.
 *
 * @module
 */

import type { Json } from "../../../lib/core/canonical_json.ts";
import type { Problem } from "../../../lib/core/problem.ts";
import type { Refusal } from "../../../lib/core/refusal.ts";
import type { Ask } from "../../../lib/dispatch/ask.ts";
import { done, fell, type Outcome } from "../../../lib/dispatch/outcome.ts";
import { digestOfId, readEvidence } from "../../../lib/evidence/evidence.ts";
import type { Evidence } from "../../../lib/evidence/evidence_shape.ts";
import { type Handover, readHandover } from "../../../lib/evidence/handover.ts";
import { MOST_RECORDS_BYTES, readRecords } from "../../../lib/evidence/record.ts";
import type { PlannedHost } from "../../../lib/dispatch/plan.ts";
import { readAsk } from "../one_host.ts";
import type { Operator } from "../operator.ts";
import { keep } from "./shelf.ts";

/** Asks the node once more. */
type AskNode = (ask: Ask) => Promise<Outcome | null>;

/** Fetches the run `id` of `host` into `folder`. Null: the command was ended first. */
export async function fetchEvidence(
  operator: Operator,
  folder: string,
  host: PlannedHost,
  id: string,
  ask: AskNode,
): Promise<Outcome | null> {
  const no = (code: string, detail: string, nextStep?: string) =>
    fell(host.host, "refused", code, detail, nextStep === undefined ? {} : { nextStep });
  const first = await handed(host, id, null, ask);
  if (first === null || "host" in first) return first;
  if (first.evidence === null) {
    return no(
      "evidence_not_ready",
      `the run is ${first.state} and left no evidence`,
      "see `benchmarks status` on that host",
    );
  }
  const bytes = new TextEncoder().encode(first.evidence.text);
  const digest = digestOfId(first.evidence.id) ?? "";
  const read = await readEvidence(bytes, digest);
  if (read.kind === "invalid") return no(...told(read.problems));
  const { body } = read.model;
  if (body.host.node !== host.node) {
    return no(
      "evidence_of_other",
      `the document is of ${body.host.node}, and ${host.node} was asked`,
    );
  }
  const records = await fetchRecords(host, id, body, ask, no);
  if (records === null || "host" in records) return records;
  const kept = await keep(operator, folder, { digest, bytes, records: records.bytes });
  if (typeof kept !== "string") return no(kept.code, kept.detail, kept.nextStep);
  const result: Json = {
    id: first.evidence.id,
    kept: kept === "kept",
    records: body.records === null ? "none" : records.bytes === null ? "not_handed_over" : "kept",
  };
  return done(host.host, result);
}

async function fetchRecords(
  host: PlannedHost,
  id: string,
  { records: named }: Evidence,
  ask: AskNode,
  no: (code: string, detail: string, nextStep?: string) => Outcome,
): Promise<{ readonly bytes: Uint8Array<ArrayBuffer> | null } | Outcome | null> {
  if (named === null) return { bytes: null };
  if (named.bytes > MOST_RECORDS_BYTES) return no("records_too_large", `${named.bytes} bytes`);
  const whole = new Uint8Array(named.bytes);
  for (let from = 0; from < whole.length;) {
    const next = await handed(host, id, from, ask);
    if (next === null || "host" in next) return next;
    const { records } = next;
    if (records === null && from === 0) return { bytes: null };
    const piece = records === null ? null : Uint8Array.fromBase64(records.piece);
    const fits = records !== null && piece !== null && records.digest === named.digest &&
      records.from === from && piece.length > 0 && from + piece.length <= whole.length;
    if (!fits) {
      return no("handover_broken", `the piece of records from byte ${from} is not what was asked`);
    }
    whole.set(piece, from);
    from += piece.length;
  }
  const read = await readRecords(whole, named.digest);
  return read.kind === "ok" ? { bytes: whole } : no(...told(read.problems));
}

/** One answer of `benchmarks.result`, read; or how asking ended. */
async function handed(
  host: PlannedHost,
  id: string,
  from: number | null,
  ask: AskNode,
): Promise<Handover | Outcome | null> {
  const outcome = await ask(readAsk("benchmarks.result", { id, records_from: from }));
  if (outcome === null || outcome.kind !== "done") return outcome;
  const read = readHandover(outcome.result);
  if (read.kind === "ok") return read.model;
  const [, detail] = told(read.problems);
  return fell(host.host, "refused", "handover_malformed", detail);
}

function told([first]: readonly Problem[]): [code: Refusal["code"], detail: string] {
  return [first?.code ?? "evidence_damaged", `${first?.path ?? "$"}: ${first?.message ?? "?"}`];
}
