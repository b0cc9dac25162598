/**
 * A document of evidence as bytes: one spelling, so that its SHA-256 names it.
 *
 *     <digest>.json             the document: canonical JSON and a newline
 *     <digest>.records.jsonl    the answers it was made of, where they were kept (record.ts)
 *     <digest>.sig.json         signatures over it, where there are any (signature.ts)
 *
 * A topology, a promotion and a person call it `ev-<digest>`.
 *
 * @module
 */

import { canonicalJson, type Json } from "../core/canonical_json.ts";
import type { Checked, Problem } from "../core/problem.ts";
import { readJson } from "../core/strict_json.ts";
import { checkShape } from "../document/shape.ts";
import {
  type Distribution,
  type Evidence,
  evidenceShape,
  MOST_EVIDENCE_BYTES,
} from "./evidence_shape.ts";

/** A document that was read, and its name. */
export interface Named<Body> {
  /** SHA-256 of the bytes, lower-case hex. */
  readonly digest: string;
  /** `ev-` and the digest. */
  readonly id: string;
  readonly body: Body;
}

/** How a document is called by whoever names it. */
export const EVIDENCE_ID_PATTERN = /^ev-[0-9a-f]{64}$/;

/** `ev-<digest>`. */
export function evidenceId(digest: string): string {
  return `ev-${digest}`;
}

/** The digest in a name, or null when it is no name of a document. */
export function digestOfId(id: string): string | null {
  return EVIDENCE_ID_PATTERN.test(id) ? id.slice(3) : null;
}

/** The one spelling of a document. */
export function evidenceText(body: Evidence): string {
  return `${canonicalJson(body as Json)}\n`;
}

/** SHA-256 of bytes, lower-case hex. */
export async function digestOf(bytes: Uint8Array<ArrayBuffer>): Promise<string> {
  return new Uint8Array(await crypto.subtle.digest("SHA-256", bytes)).toHex();
}

/**
 * The bytes of a document and its name. Throws for a body that {@link readEvidence} would refuse:
 * whoever measured it has a bug.
 */
export async function writeEvidence(
  body: Evidence,
): Promise<Named<Evidence> & { readonly bytes: Uint8Array<ArrayBuffer> }> {
  const bytes = new TextEncoder().encode(evidenceText(evidenceShape.parse(body)));
  const read = await readEvidence(bytes);
  if (read.kind === "invalid") {
    const [first] = read.problems;
    throw new TypeError(`evidence nobody would read: ${first?.path}: ${first?.message}`);
  }
  return { ...read.model, bytes };
}

/**
 * Reads a document. `expected` is the digest it was asked for or filed under: bytes that are another
 * document are `evidence_tampered`, whatever they say.
 */
export async function readEvidence(
  bytes: Uint8Array<ArrayBuffer>,
  expected?: string,
): Promise<Checked<Named<Evidence>>> {
  const read = await readNamed(bytes, expected, MOST_EVIDENCE_BYTES);
  if (read.kind === "invalid") return read;
  const shaped = checkShape(evidenceShape, read.model.body);
  if (shaped.kind === "invalid") return shaped;
  const body = shaped.model;
  const problems = [...contradictions(body), ...spelling(bytes, evidenceText(body))];
  if (problems.length > 0) return { kind: "invalid", problems };
  const { digest } = read.model;
  return { kind: "ok", model: { digest, id: evidenceId(digest), body } };
}

/** Bounded strict JSON under the name it was filed as. */
export async function readNamed(
  bytes: Uint8Array<ArrayBuffer>,
  expected: string | undefined,
  most: number,
): Promise<Checked<{ readonly digest: string; readonly body: Json }>> {
  // The size first: nobody digests what nobody would read.
  if (bytes.length > most) {
    return bad("json_too_large", `observed ${bytes.length} bytes, expected at most ${most}`);
  }
  const digest = await digestOf(bytes);
  if (expected !== undefined && digest !== expected) {
    return bad(
      "evidence_tampered",
      `the bytes are ${digest.slice(0, 12)}…, and they are filed as ${expected.slice(0, 12)}…; ` +
        "fetch it again from where it was measured",
    );
  }
  const read = readJson(bytes, { bytes: most, depth: 16, values: 4_000_000 });
  return read.kind === "refused"
    ? bad(read.code, read.detail)
    : { kind: "ok", model: { digest, body: read.value } };
}

function bad(
  code: string,
  message: string,
): { readonly kind: "invalid"; readonly problems: readonly Problem[] } {
  return { kind: "invalid", problems: [{ path: "$", code, message }] };
}

/** One fault when the bytes are not the one spelling of what they say. */
export function spelling(bytes: Uint8Array, text: string): Problem[] {
  const same = new TextDecoder().decode(bytes) === text;
  return same ? [] : [{
    path: "$",
    code: "evidence_not_canonical",
    message: "observed another spelling than canonical JSON and a newline: two names for one thing",
  }];
}

/** What the shape alone does not say. */
function contradictions({ run, through, measures, workload, records, host }: Evidence): Problem[] {
  const problems: Problem[] = [];
  const say = (path: string, message: string) =>
    problems.push({ path, code: "evidence_contradicts", message });
  if (Date.parse(run.ended_at) < Date.parse(run.started_at)) {
    say("run.ended_at", "it ended before it was started");
  }
  const { sent, completed, failed, cancelled } = measures.requests;
  if (sent !== completed + failed + cancelled) {
    say("measures.requests.sent", "expected the sum of completed, failed and cancelled");
  }
  const errors = measures.errors.reduce((sum, one) => sum + one.count, 0);
  if (errors !== failed) say("measures.errors", `${errors} are told apart, and ${failed} failed`);
  const codes = measures.errors.map(({ code }) => code);
  if (new Set(codes).size !== codes.length) say("measures.errors", "one code stands there twice");
  for (const key of ["ttft_ms", "total_ms", "tokens_per_second"] as const) {
    const values = measures[key];
    if (values === null) continue;
    const wrong = disordered(values);
    if (wrong !== null) say(`measures.${key}`, wrong);
    if (values.count > sent) say(`measures.${key}.count`, `more values than requests, ${sent}`);
  }
  if (measures.tokens.counted_by === "none" && measures.tokens.completion !== null) {
    say("measures.tokens.counted_by", "there is a count that nobody counted");
  }
  const asked = workload.corpus.prompts * workload.repeats;
  if (sent > asked) say("measures.requests.sent", `the workload has ${asked} requests`);
  if (run.complete && sent < asked) say("run.complete", `${asked - sent} were never sent`);
  if (records !== null && records.count > sent) {
    say("records.count", `more records than requests, ${sent}`);
  }
  if (host.runtime === null && through.kind === "member") {
    say("host.runtime", "a host without a runtime class has no serve to measure");
  }
  return problems;
}

function disordered({ min, mean, p50, p90, p99, max }: Distribution): string | null {
  const ordered = [min, p50, p90, p99, max];
  const grows = ordered.every((value, at) => at === 0 || value >= (ordered[at - 1] ?? 0));
  if (!grows) return "expected min, p50, p90, p99 and max in that order of size";
  // A mean of floats may miss its own bounds by a rounding.
  const slack = Math.abs(max) * 1e-9;
  return mean < min - slack || mean > max + slack ? "the mean is outside of min and max" : null;
}
