/** `anvil-agent check FILE`. @module */

import { buildCommand } from "@stricli/core";
import type { Problem } from "../../../lib/core/problem.ts";
import { RosterFile, textOf } from "../../../lib/credential/roster_file.ts";
import { graceProblem, readGrace } from "../../../lib/document/grace.ts";
import { systemClock } from "../../../lib/host/clock.ts";
import { sha256 } from "../../../lib/host/digest.ts";
import { systemFiles } from "../../../lib/host/files.ts";
import { JSON_FLAG } from "../../../lib/terminal/json_flag.ts";
import {
  printEnvelope,
  type ProgramContext,
  reportProblems,
} from "../../../lib/terminal/program.ts";
import { readClients } from "../clients.ts";
import { loadConfig } from "../config_file.ts";

const silent = { info: () => {}, warn: () => {}, error: () => {} };

interface CheckFlags {
  readonly json: boolean;
  readonly supervisor?: string;
}

/** No supervisor file is larger. */
const MOST_SUPERVISOR_BYTES = 256 * 1024;

/** What is wrong with the time a supervisor grants; null when nothing is. */
async function supervisorProblem(path: string, drainSeconds: number): Promise<Problem | null> {
  const problem = (code: string, message: string): Problem => ({ path: "$", code, message });
  const read = await systemFiles.readBounded(path, MOST_SUPERVISOR_BYTES);
  if (read.kind === "absent") return problem("file_absent", "there is no such file");
  if (read.kind === "refused") return problem(read.code, read.detail);
  const text = textOf(read.bytes);
  if (text === null) return problem("not_utf8", "the file is not UTF-8 text");
  const grace = readGrace(path, text);
  const refusal = grace.kind === "refused"
    ? grace
    : graceProblem(grace, drainSeconds, { program: "agent", work: "operations" });
  return refusal === null
    ? null
    : problem(refusal.code, `${refusal.detail}; ${refusal.nextStep ?? "mend the file"}`);
}

/** Validates a configuration and the clients file it names; starts nothing. */
export const checkCommand = buildCommand<CheckFlags, [string], ProgramContext>({
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
      const found = await supervisorProblem(supervisor, limits.drain_seconds);
      if (found !== null) return reportProblems(this, supervisor, [found], json);
    }
    if (json) printEnvelope(this, { ok: true, data: { node, roles }, problems: [] });
    else this.terminal.out(`${file}: ok, node ${node}, roles ${roles.join(", ") || "none"}\n`);
  },
});
