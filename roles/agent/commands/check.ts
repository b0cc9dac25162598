/** `anvil-agent check FILE`. @module */

import { buildCommand } from "@stricli/core";
import type { Build } from "../../../lib/core/version.ts";
import { RosterFile } from "../../../lib/credential/roster_file.ts";
import { supervisorProblem } from "../../../lib/document/supervisor_problem.ts";
import { systemClock } from "../../../lib/host/clock.ts";
import { sha256 } from "../../../lib/host/digest.ts";
import { systemFiles } from "../../../lib/host/files.ts";
import { JSON_FLAG } from "../../../lib/terminal/json_flag.ts";
import {
  printEnvelope,
  type ProgramContext,
  reportProblems,
} from "../../../lib/terminal/program.ts";
import { catalogueOf } from "../catalogue_of.ts";
import { readClients } from "../clients.ts";
import type { AgentConfig } from "../config.ts";
import { loadConfig } from "../config_file.ts";
import { systemPorts } from "../system_ports.ts";

const silent = { info: () => {}, warn: () => {}, error: () => {} };

interface CheckFlags {
  readonly json: boolean;
  readonly supervisor?: string;
}

const AGENT = { program: "agent", work: "operations" } as const;

/** The digest that an agent of this build tells, when it runs on `config`. */
function digestFor(config: AgentConfig, build: Build): string {
  // On record is nothing: no agent runs, and wiring asks nobody.
  const none = {
    epoch: "",
    audit: { tail: () => [] },
    ledger: { list: () => [], get: () => null, count: () => ({ runs: 0, running: 0 }) },
    cancel: () => false,
    isLive: () => false,
  };
  return catalogueOf(config, systemPorts(config, build, silent), none).catalogue.digest;
}

/** Validates a configuration and the clients file it names; starts nothing. */
export const checkCommand = (build: Build) =>
  buildCommand<CheckFlags, [string], ProgramContext>({
    parameters: {
      flags: {
        json: JSON_FLAG,
        supervisor: {
          kind: "parsed",
          parse: String,
          brief: "A systemd unit or launchd plist that must outlast the drain",
          placeholder: "UNIT",
          optional: true,
        },
      },
      positional: {
        kind: "tuple",
        parameters: [{ brief: "The agent's configuration", parse: String, placeholder: "FILE" }],
      },
    },
    docs: {
      brief: "Check a configuration and print every problem",
      fullDescription:
        "Reads FILE and the clients file it names, prints every problem with its path and code,\n" +
        "and exits 2 when there is any. Starts nothing. With --supervisor, what UNIT grants between\n" +
        "its stop signal and its kill must be above limits.drain_seconds.\n\n" +
        "The catalogue's digest is the one an agent of this build tells on that host: what\n" +
        "`anvil-operator bootstrap plan --expect-catalogue` wants.\n\n" +
        "Example:\n  anvil-agent check /etc/anvil/agent.toml --supervisor anvil-agent.service",
    },
    async func({ json, supervisor }, file) {
      const loaded = await loadConfig(file);
      if (loaded.kind === "invalid") return reportProblems(this, file, loaded.problems, json);
      const { auth, node, roles, limits } = loaded.model;
      if (auth.clients !== undefined) {
        const clients = await RosterFile.open(auth.clients, {
          files: systemFiles,
          clock: systemClock,
          sha256,
          remarks: silent,
          read: readClients,
        });
        if (clients.kind === "invalid") {
          return reportProblems(this, auth.clients, clients.problems, json);
        }
      }
      if (supervisor !== undefined) {
        const found = await supervisorProblem(
          systemFiles,
          supervisor,
          limits.drain_seconds,
          AGENT,
        );
        if (found !== null) return reportProblems(this, supervisor, [found], json);
      }
      const catalogue = digestFor(loaded.model, build);
      if (json) {
        const data = { node, roles, catalogue_digest: catalogue };
        printEnvelope(this, { ok: true, data, problems: [] });
      } else {
        this.terminal.out(
          `${file}: ok, node ${node}, roles ${
            roles.join(", ") || "none"
          }\ncatalogue ${catalogue}\n`,
        );
      }
    },
  });
