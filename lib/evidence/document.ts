/**
 * One document of either kind: evidence or parity. Its first key says which.
 *
 * @module
 */

import type { Json } from "../core/canonical_json.ts";
import type { Checked } from "../core/problem.ts";
import { evidenceId, readEvidence, readNamed } from "./evidence.ts";
import { type Evidence, EVIDENCE_SCHEMA } from "./evidence_shape.ts";
import { readParity } from "./parity.ts";
import { MOST_PARITY_BYTES, type Parity, PARITY_SCHEMA } from "./parity_shape.ts";
import { signersOf } from "./signature.ts";

/** A document that was read. */
export type Document =
  | {
    readonly kind: "evidence";
    readonly digest: string;
    readonly body: Evidence;
    /** Ids of the keys that its file of signatures names; whether they are good is not said. */
    readonly signed: readonly string[];
  }
  | {
    readonly kind: "parity";
    readonly digest: string;
    readonly body: Parity;
    readonly signed: readonly string[];
  };

/** No document is larger, in bytes. */
export const MOST_DOCUMENT_BYTES = MOST_PARITY_BYTES;

/** What people call it: `ev-<digest>`, or the digest of a parity, which nothing names. */
export function nameOf({ kind, digest }: Pick<Document, "kind" | "digest">): string {
  return kind === "evidence" ? evidenceId(digest) : digest;
}

/** Reads a document that is filed as `expected`, and who its file of signatures names, if there is one. */
export async function readDocument(
  bytes: Uint8Array<ArrayBuffer>,
  expected: string | undefined,
  signature: Uint8Array | null,
): Promise<Checked<Document>> {
  const named = await readNamed(bytes, expected, MOST_DOCUMENT_BYTES);
  if (named.kind === "invalid") return named;
  const signed = signature === null ? [] : signersOf(signature, named.model.digest);
  const schema = schemaOf(named.model.body);
  if (schema === EVIDENCE_SCHEMA) {
    const read = await readEvidence(bytes);
    if (read.kind === "invalid") return read;
    const { digest, body } = read.model;
    return { kind: "ok", model: { kind: "evidence", digest, body, signed } };
  }
  if (schema === PARITY_SCHEMA) {
    const read = await readParity(bytes);
    if (read.kind === "invalid") return read;
    return { kind: "ok", model: { kind: "parity", ...read.model, signed } };
  }
  return {
    kind: "invalid",
    problems: [{
      path: "schema",
      code: "evidence_schema_unknown",
      message: `expected ${EVIDENCE_SCHEMA} or ${PARITY_SCHEMA}: this may be of a newer version`,
    }],
  };
}

function schemaOf(body: Json): Json {
  const table = typeof body === "object" && body !== null && !Array.isArray(body) ? body : {};
  return "schema" in table ? table["schema"] ?? null : null;
}
