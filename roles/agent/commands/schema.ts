/** `anvil-agent schema`. @module */

import { buildCommand } from "@stricli/core";
import { z } from "zod";
import type { ProgramContext } from "../../../lib/terminal/program.ts";
import { clientsShape } from "../clients.ts";
import { configShape } from "../config.ts";

const SHAPES = { agent: configShape, clients: clientsShape } as const;

/** The JSON Schema of one of the agent's files, as text. */
export function schemaText(of: keyof typeof SHAPES): string {
  const schema = z.toJSONSchema(SHAPES[of], { io: "input", target: "draft-2020-12" });
  return `${JSON.stringify(schema, null, 2)}\n`;
}

/** Prints a JSON Schema. */
export const schemaCommand = buildCommand<{ of: keyof typeof SHAPES }, [], ProgramContext>({
  parameters: {
    flags: {
      of: {
        kind: "enum",
        values: ["agent", "clients"],
        brief: "Which file: agent.toml or clients.toml",
        default: "agent",
      },
    },
  },
  docs: {
    brief: "Print the JSON Schema of agent.toml",
    fullDescription: "Editors that know TOML use it to complete and check the file.\n\nExample:\n" +
      "  anvil-agent schema > agent.schema.json",
  },
  func({ of }) {
    this.terminal.out(schemaText(of));
  },
});
