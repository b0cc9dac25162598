/** `anvil-receiver schema`. @module */

import { schemaTextOf } from "../../../lib/document/schema_text.ts";
import { buildCommand } from "@stricli/core";
import type { ProgramContext } from "../../../lib/terminal/program.ts";
import { targetShape } from "../target.ts";

/** The JSON Schema of receiver.toml, as text. */
export function schemaText(): string {
  return schemaTextOf(targetShape);
}

/** Prints the JSON Schema. */
export const schemaCommand = buildCommand<Record<never, never>, [], ProgramContext>({
  parameters: {},
  docs: { brief: "Print the JSON Schema of receiver.toml" },
  func() {
    this.terminal.out(schemaText());
  },
});
