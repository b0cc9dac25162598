/** `anvil-router schema`. @module */

import { schemaTextOf } from "../../../lib/document/schema_text.ts";
import { schemaCommandOf } from "../../../lib/terminal/schema_command.ts";
import { clientsShape } from "../clients.ts";
import { configShape } from "../config_shape.ts";

const SHAPES = { router: configShape, clients: clientsShape } as const;

/** The JSON Schema of one of the router's files, as text. */
export function schemaText(of: keyof typeof SHAPES): string {
  return schemaTextOf(SHAPES[of]);
}

/** Prints a JSON Schema. */
export const schemaCommand = schemaCommandOf({
  program: "anvil-router",
  names: ["router", "clients"],
  which: "Which file: router.toml or clients.toml",
  brief: "Print the JSON Schema of router.toml",
  text: schemaText,
});
