/**
 * The JSON Schemas of what the operator reads and prints.
 *
 * @module
 */

import { schemaTextOf } from "../../lib/document/schema_text.ts";
import * as z from "zod";
import { evidenceShape } from "../../lib/evidence/evidence_shape.ts";
import { parityShape } from "../../lib/evidence/parity_shape.ts";
import { recordShape } from "../../lib/evidence/record.ts";
import { signatureShape } from "../../lib/evidence/signature.ts";
import { buildsShape } from "../../lib/home/builds.ts";
import { receiptShape } from "../../lib/home/receipt.ts";
import { manifestShape } from "../../lib/serves/manifest_shape.ts";
import { fleetShape } from "../../lib/topology/shape.ts";

/** What every command prints with `--json`. */
export const envelopeShape = z.strictObject({
  ok: z.boolean().describe("True exactly when the exit code is 0."),
  data: z.unknown().describe("What was found; null or partial when ok is false."),
  problems: z.array(z.strictObject({
    path: z.string().describe("A TOML path, or $ for the whole."),
    code: z.string().describe("Stable, for machines."),
    message: z.string().describe("For people."),
    file: z.string().optional(),
    line: z.int().min(1).optional(),
    column: z.int().min(1).optional(),
    reason: z.string().optional().describe("Which of several reasons of one code."),
    next_step: z.string().optional(),
  })),
});

/** Schemas by the name of what they describe. */
export const SCHEMAS = {
  topology: fleetShape,
  serves: manifestShape,
  builds: buildsShape,
  receipt: receiptShape,
  envelope: envelopeShape,
  evidence: evidenceShape,
  "evidence-record": recordShape,
  "evidence-signature": signatureShape,
  parity: parityShape,
} as const;

/** One of {@link SCHEMAS}. */
export type SchemaName = keyof typeof SCHEMAS;

/** The names, in one order. */
export const SCHEMA_NAMES = Object.keys(SCHEMAS) as readonly SchemaName[];

/** The JSON Schema of one of them, as text. */
export function schemaText(of: SchemaName): string {
  return schemaTextOf(SCHEMAS[of]);
}
