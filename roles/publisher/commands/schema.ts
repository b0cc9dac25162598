/** `anvil-publisher schema`. @module */

import { schemaTextOf } from "../../../lib/document/schema_text.ts";
import { buildCommand } from "@stricli/core";
import { envelopeShape } from "../../../lib/adoption/envelope.ts";
import { payloadShape } from "../../../lib/adoption/envelope_payload.ts";
import { schema1Shape } from "../../../lib/adoption/envelope_schema1.ts";
import { trustShape } from "../../../lib/adoption/keys.ts";
import type { ProgramContext } from "../../../lib/terminal/program.ts";
import { resultShape } from "../build_all.ts";
import { configShape } from "../config.ts";
import { revisionShape } from "../revision.ts";

const SHAPES = {
  publisher: configShape,
  candidate: payloadShape,
  "candidate-envelope": envelopeShape,
  "candidate-schema-1": schema1Shape,
  trust: trustShape,
  revision: revisionShape,
  "build-result": resultShape,
} as const;

/** What there is a schema of. */
export const SCHEMA_NAMES = Object.keys(SHAPES) as (keyof typeof SHAPES)[];

/** The JSON Schema of one of the publisher's documents, as text. */
export function schemaText(of: keyof typeof SHAPES): string {
  return schemaTextOf(SHAPES[of]);
}

/** Prints a JSON Schema. */
export const schemaCommand = buildCommand<{ of: keyof typeof SHAPES }, [], ProgramContext>({
  parameters: {
    flags: {
      of: { kind: "enum", values: SCHEMA_NAMES, default: "publisher", brief: "Which document" },
    },
    positional: { kind: "tuple", parameters: [] },
  },
  docs: {
    brief: "Print a JSON Schema",
    fullDescription: "Example:\n  anvil-publisher schema --of candidate",
  },
  func({ of }) {
    this.terminal.out(schemaText(of));
  },
});
