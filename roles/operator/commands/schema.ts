/** `anvil-operator schema`. @module */

import { buildCommand } from "@stricli/core";
import type { ProgramContext } from "../../../lib/terminal/program.ts";
import { SCHEMA_NAMES, type SchemaName, schemaText } from "../schemas.ts";

/** Prints a JSON Schema. */
export const schemaCommand = buildCommand<{ of: SchemaName }, [], ProgramContext>({
  parameters: {
    flags: {
      of: {
        kind: "enum",
        values: SCHEMA_NAMES,
        default: "topology",
        brief:
          "topology.toml, serves.toml, builds.toml, receipt.json, what --json prints, or evidence",
      },
    },
  },
  docs: {
    brief: "Print the JSON Schema of topology.toml",
    fullDescription:
      "Editors that know TOML use it to complete and check the file: begin it with\n" +
      "`#:schema topology.schema.json`. The same files are in fleet/schemas/.\n\n" +
      "Examples:\n  anvil-operator schema > topology.schema.json\n" +
      "  anvil-operator schema --of envelope",
  },
  func({ of }) {
    this.terminal.out(schemaText(of));
  },
});
