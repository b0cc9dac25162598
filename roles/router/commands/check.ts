/** `anvil-router check FILE`. @module */

import { buildCommand } from "@stricli/core";
import {
  printEnvelope,
  type ProgramContext,
  reportProblems,
} from "../../../lib/terminal/program.ts";
import { JSON_FLAG } from "../../../lib/terminal/json_flag.ts";
import { table } from "../../../lib/terminal/table.ts";
import { systemClock } from "../../../lib/host/clock.ts";
import { sha256 } from "../../../lib/host/digest.ts";
import { systemFiles } from "../../../lib/host/files.ts";
import { supervisorProblem } from "../../../lib/document/supervisor_problem.ts";
import { readAgentTokens } from "../agent_tokens.ts";
import { loadConfig } from "../config_file.ts";
import { openRoster } from "../roster_file.ts";

/** Flags and positionals that several commands share. */
export const FILE = {
  kind: "tuple",
  parameters: [{ brief: "The router's configuration", parse: String, placeholder: "FILE" }],
} as const;

const silent = { info: () => {}, warn: () => {}, error: () => {} };

const ROUTER = { program: "router", work: "requests" } as const;

interface CheckFlags {
  readonly json: boolean;
  readonly supervisor?: string;
}

/** Validates a configuration and the files it names; starts nothing. */
export const checkCommand = buildCommand<CheckFlags, [string], ProgramContext>({
  parameters: {
    flags: {
      json: JSON_FLAG,
      supervisor: {
        kind: "parsed",
        parse: String,
        brief: "A systemd unit, compose file or launchd plist that must outlast the drain",
        placeholder: "UNIT",
        optional: true,
      },
    },
    positional: FILE,
  },
  docs: {
    brief: "Check a configuration and print every problem",
    fullDescription:
      "Reads FILE and the files it names, prints every problem with its path and code,\n" +
      "and exits 2 when there is any. Starts nothing. With --supervisor, what UNIT grants between\n" +
      "its stop signal and its kill must be above limits.drain_seconds.\n\n" +
      "Example:\n  anvil-router check /etc/anvil/router.toml --supervisor /etc/systemd/system/anvil-router.service",
  },
  async func({ json, supervisor }, file) {
    const loaded = await loadConfig(file);
    if (loaded.kind === "invalid") return reportProblems(this, file, loaded.problems, json);
    const { config, digest } = loaded.model;
    if (config.auth.clients !== undefined) {
      const clients = await openRoster(config.auth.clients, {
        files: systemFiles,
        clock: systemClock,
        sha256,
        remarks: silent,
      });
      if (clients.kind === "invalid") {
        return reportProblems(this, config.auth.clients, clients.problems, json);
      }
    }
    const tokens = await readAgentTokens(config, systemFiles);
    if (tokens.kind === "invalid") return reportProblems(this, file, tokens.problems, json);
    if (supervisor !== undefined) {
      const found = await supervisorProblem(
        systemFiles,
        supervisor,
        config.limits.drain_seconds,
        ROUTER,
      );
      if (found !== null) return reportProblems(this, supervisor, [found], json);
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
