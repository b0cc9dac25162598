/** `anvil-router check FILE`. @module */

import { buildCommand } from "@stricli/core";
import {
  printEnvelope,
  type ProgramContext,
  reportProblems,
} from "../../../lib/terminal/program.ts";
import { table } from "../../../lib/terminal/table.ts";
import { systemClock } from "../../../lib/host/clock.ts";
import { sha256 } from "../../../lib/host/digest.ts";
import { systemFiles } from "../../../lib/host/files.ts";
import { loadConfig } from "../config_file.ts";
import { RosterFile } from "../roster_file.ts";

/** Flags and positionals that several commands share. */
export const FILE = {
  kind: "tuple",
  parameters: [{ brief: "The router's configuration", parse: String, placeholder: "FILE" }],
} as const;

/** `--json`. */
export const JSON_FLAG = {
  kind: "boolean",
  brief: "Print one JSON envelope: ok, data, problems",
  default: false,
  withNegated: false,
} as const;

const silent = { info: () => {}, warn: () => {}, error: () => {} };

/** Validates a configuration and the clients file it names; starts nothing. */
export const checkCommand = buildCommand<{ json: boolean }, [string], ProgramContext>({
  parameters: { flags: { json: JSON_FLAG }, positional: FILE },
  docs: {
    brief: "Check a configuration and print every problem",
    fullDescription:
      "Reads FILE and the clients file it names, prints every problem with its path and code,\n" +
      "and exits 2 when there is any. Starts nothing.\n\nExample:\n  anvil-router check /etc/anvil/router.toml",
  },
  async func({ json }, file) {
    const loaded = await loadConfig(file);
    if (loaded.kind === "invalid") return reportProblems(this, file, loaded.problems, json);
    const { config, digest } = loaded.model;
    if (config.auth.clients !== undefined) {
      const clients = await RosterFile.open(config.auth.clients, {
        files: systemFiles,
        clock: systemClock,
        sha256,
        remarks: silent,
      });
      if (clients.kind === "invalid") {
        return reportProblems(this, config.auth.clients, clients.problems, json);
      }
    }
    const tiers = config.tiers.map((tier) => ({
      tier: tier.id,
      served_model: tier.served_model,
      members: tier.members.length,
      aliases: Object.keys(config.aliases).filter((alias) => config.aliases[alias] === tier.id),
    }));
    if (json) {
      printEnvelope(this, {
        ok: true,
        data: { node: config.node, config_digest: digest, tiers },
        problems: [],
      });
      return;
    }
    this.terminal.out(table(
      ["tier", "served model", "members", "aliases"],
      tiers.map((tier) => [
        tier.tier,
        tier.served_model,
        String(tier.members),
        tier.aliases.join(", ") || "none: nobody can ask for it",
      ]),
    ));
    this.terminal.out(`${file}: ok, sha256 ${digest}\n`);
  },
});
