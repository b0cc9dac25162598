/** `anvil-agent schema`. @module */

import { schemaTextOf } from "../../../lib/document/schema_text.ts";
import { schemaCommandOf } from "../../../lib/terminal/schema_command.ts";
import { clientsShape } from "../clients.ts";
import { configShape } from "../config.ts";

const SHAPES = { agent: configShape, clients: clientsShape } as const;

/** The JSON Schema of one of the agent's files, as text. */
export function schemaText(of: keyof typeof SHAPES): string {
  return schemaTextOf(SHAPES[of]);
}

/** Prints a JSON Schema. */
export const schemaCommand = schemaCommandOf({
  program: "anvil-agent",
  names: ["agent", "clients"],
  which: "Which file: agent.toml or clients.toml",
  brief: "Print the JSON Schema of agent.toml",
  text: schemaText,
});
