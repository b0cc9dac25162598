/**
 * anvil-adopter: pulls a signed candidate, stages, gates, switches, probes, proves or goes back.
 *
 * @module
 */

import { buildApplication, buildRouteMap } from "@stricli/core";
import { systemClock } from "../../lib/host/clock.ts";
import { tcpDial } from "../../lib/host/dial.ts";
import { sha256 } from "../../lib/host/digest.ts";
import { systemDirectories } from "../../lib/host/directories.ts";
import { systemDownload } from "../../lib/host/download.ts";
import { removeFile, systemFiles } from "../../lib/host/files.ts";
import { openJournal } from "../../lib/host/journal.ts";
import { tryLock } from "../../lib/host/lock.ts";
import { configureLog, log } from "../../lib/host/log.ts";
import { userId } from "../../lib/host/paths.ts";
import { runProcess } from "../../lib/host/process.ts";
import { systemRandom } from "../../lib/host/random.ts";
import { systemBuild, systemTerminal } from "../../lib/host/terminal.ts";
import { http1Upstream } from "../../lib/relay/http1.ts";
import { completionsCommand } from "../../lib/terminal/completion.ts";
import { runProgram } from "../../lib/terminal/program.ts";
import { checkCommand, schemaCommand } from "./commands/check.ts";
import { pauseCommand, recoveredCommand, resumeCommand, unrejectCommand } from "./commands/say.ts";
import { receiptsCommand, statusCommand } from "./commands/status.ts";
import type { Wiring } from "./commands/verb.ts";
import {
  adoptCommand,
  offerCommand,
  planCommand,
  rollbackCommand,
  stageCommand,
} from "./commands/verbs.ts";

/** No clock is before the first line of this, wherever it runs from. */
const WRITTEN_AT = "2026-01-01T00:00:00.000Z";

const build = systemBuild("anvil-adopter");
configureLog({ level: "info" });
const logger = log(["adopter"]);
const download = systemDownload(systemClock);
const wiring: Wiring = {
  who: Deno.env.get("SUDO_USER") ?? Deno.env.get("USER") ?? "unknown",
  ports: {
    files: systemFiles,
    directories: systemDirectories,
    removeFile,
    tryLock,
    openJournal,
    run: runProcess,
    clock: systemClock,
    random: systemRandom,
    sha256,
    download,
    upstream: http1Upstream(tcpDial, systemClock),
    canConnect: async (endpoint, signal) => {
      const dialed = await tcpDial(endpoint, { connectMs: 10_000, signal });
      if (dialed.kind !== "connected") return false;
      dialed.conn.close();
      return true;
    },
    remarks: {
      info: logger.info.bind(logger),
      warn: logger.warn.bind(logger),
      error: logger.error.bind(logger),
    },
    uid: userId(),
    os: Deno.build.os,
    builtAt: Date.parse(build.built_at ?? WRITTEN_AT),
  },
};

const app = buildApplication(
  buildRouteMap({
    routes: {
      offer: offerCommand(wiring),
      stage: stageCommand(wiring),
      plan: planCommand(wiring),
      adopt: adoptCommand(wiring),
      rollback: rollbackCommand(wiring),
      pause: pauseCommand(wiring),
      resume: resumeCommand(wiring),
      unreject: unrejectCommand(wiring),
      recovered: recoveredCommand(wiring),
      status: statusCommand(wiring),
      receipts: receiptsCommand(wiring),
      check: checkCommand,
      schema: schemaCommand,
      completions: completionsCommand("anvil-adopter"),
    },
    docs: {
      brief: "Adopt signed candidates on this host, one at a time, or go back",
      fullDescription:
        "Pulls; nobody pushes. Staging and adopting are separate; a timer adopts only where the\n" +
        "host's policy says rolling. What is adopted is probed, and is proven or goes back.\n\n" +
        "Exit codes: 0 done, nothing to do, or later; 1 refused or rolled back; 2 the command line\n" +
        "or the configuration is wrong; 3 a person must look.\n" +
        "--version [--json] says which build this is.",
    },
  }),
  { name: "anvil-adopter", scanner: { caseStyle: "allow-kebab-for-camel" } },
);
const code = await runProgram(app, build, Deno.args, systemTerminal());
download.close();
Deno.exit(code);
