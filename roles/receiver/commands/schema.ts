/** `anvil-receiver schema`. @module */

import { buildCommand } from "@stricli/core";
import { z } from "zod";
import type { ProgramContext } from "../../../lib/terminal/program.ts";
import { targetShape } from "../target.ts";

/** The JSON Schema of receiver.toml, as text. */
export function schemaText(): string {
  const schema = z.toJSONSchema(targetShape, { io: "input", target: "draft-2020-12" });
  return `${JSON.stringify(schema, null, 2)}\n`;
}

/** Prints the JSON Schema. */
export const schemaCommand = buildCommand<Record<never, never>, [], ProgramContext>({
  parameters: {},
  docs: { brief: "Print the JSON Schema of receiver.toml" },
  func() {
    this.terminal.out(schemaText());
  },
});
