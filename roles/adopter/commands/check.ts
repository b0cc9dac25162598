/** `anvil-adopter check|schema`. @module */

import { buildCommand } from "@stricli/core";
import { schemaTextOf } from "../../../lib/document/schema_text.ts";
import { summaryShape } from "../../../lib/adoption/status.ts";
import {
  printEnvelope,
  type ProgramContext,
  reportProblems,
} from "../../../lib/terminal/program.ts";
import { schemaCommandOf } from "../../../lib/terminal/schema_command.ts";
import { configShape } from "../config.ts";
import { loadConfig } from "../config_file.ts";
import { VERB_FLAGS, type VerbFlags } from "./verb.ts";

const SHAPES = { adopter: configShape, summary: summaryShape } as const;

/** The JSON Schema of one of the adopter's files, as text. */
export function schemaText(of: keyof typeof SHAPES): string {
  return schemaTextOf(SHAPES[of]);
}

/** Validates a configuration; touches nothing. */
export const checkCommand = buildCommand<VerbFlags, [], ProgramContext>({
  parameters: { flags: VERB_FLAGS },
  docs: {
    brief: "Check the configuration and print every problem",
    fullDescription: "Example:\n  anvil-adopter check --config /etc/anvil/adopter.toml",
  },
  async func({ config: file, json }) {
    const loaded = await loadConfig(file);
    if (loaded.kind === "invalid") return reportProblems(this, file, loaded.problems, json);
    const { host, backend, policy, gates, probes } = loaded.model;
    if (json) {
      const data = { host, backend, policy: policy.adopt, gates: gates.length };
      printEnvelope(this, { ok: true, data: { ...data, probes: probes.length }, problems: [] });
    } else {
      this.terminal.out(
        `${file}: ok, host ${host}, ${backend}, policy ${policy.adopt}, ` +
          `${gates.length} gates, ${probes.length} probes\n`,
      );
    }
  },
});

/** Prints a JSON Schema. */
export const schemaCommand = schemaCommandOf({
  program: "anvil-adopter",
  names: ["adopter", "summary"],
  which: "Which: adopter.toml or the summary",
  brief: "Print the JSON Schema of adopter.toml, or of the summary",
  text: schemaText,
});
