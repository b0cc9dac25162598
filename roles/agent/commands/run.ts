/** `anvil-agent run FILE`. @module */

import { buildCommand } from "@stricli/core";
import { isLoopback } from "../../../lib/core/address.ts";
import { type Refusal, refuse } from "../../../lib/core/refusal.ts";
import type { Build } from "../../../lib/core/version.ts";
import { RosterFile } from "../../../lib/credential/roster_file.ts";
import { systemClock } from "../../../lib/host/clock.ts";
import { sha256 } from "../../../lib/host/digest.ts";
import { systemFiles } from "../../../lib/host/files.ts";
import { configureLog, log } from "../../../lib/host/log.ts";
import { systemRandom } from "../../../lib/host/random.ts";
import { serve } from "../../../lib/host/serve.ts";
import { onStopSignal } from "../../../lib/host/signals.ts";
import {
  type ProgramContext,
  reportProblems,
  reportRefusal,
} from "../../../lib/terminal/program.ts";
import { startAgent } from "../agent.ts";
import { readClients } from "../clients.ts";
import type { AgentConfig } from "../config.ts";
import { loadConfig } from "../config_file.ts";
import { systemPorts } from "../system_ports.ts";

const LEVELS = ["debug", "info", "warning", "error"] as const;

interface RunFlags {
  readonly logLevel: (typeof LEVELS)[number];
  readonly allowUnauthenticatedLoopback: boolean;
}

/** Why an agent with this many tokens may not listen there; null when it may. */
export function bindRefusal(
  config: Pick<AgentConfig, "listen" | "auth">,
  tokens: number,
  allowed: boolean,
): Refusal | null {
  const { clients } = config.auth;
  if (clients === undefined) {
    return allowed && isLoopback(config.listen.hostname) ? null : refuse(
      "tokens_required",
      "without a clients file everybody who reaches the port may do everything",
      "name a clients file in agent.toml, or, on loopback only, pass --allow-unauthenticated-loopback",
    );
  }
  if (allowed) {
    return refuse(
      "auth_ambiguous",
      "--allow-unauthenticated-loopback stands instead of a clients file, not beside it",
      "leave the flag out, or `auth.clients`",
    );
  }
  return tokens > 0 || isLoopback(config.listen.hostname) ? null : refuse(
    "tokens_required",
    "the clients file holds no token, and the address is not loopback",
    "make one with `anvil-agent tokens add`",
  );
}

/** Runs the agent until a stop signal. */
export function runCommand(build: Build) {
  return buildCommand<RunFlags, [string], ProgramContext>({
    parameters: {
      flags: {
        logLevel: {
          kind: "enum",
          values: LEVELS,
          brief: "Least level that is logged",
          default: "info",
        },
        allowUnauthenticatedLoopback: {
          kind: "boolean",
          brief: "Without a clients file: trust whoever asks on loopback",
          default: false,
          withNegated: false,
        },
      },
      positional: {
        kind: "tuple",
        parameters: [{ brief: "The agent's configuration", parse: String, placeholder: "FILE" }],
      },
    },
    docs: {
      brief: "Run the agent until SIGTERM or Ctrl-C",
      fullDescription:
        "Reads FILE once, settles what an earlier process left unfinished, and listens. The first\n" +
        "stop signal refuses new operations; running ones may finish within limits.drain_seconds.\n\n" +
        "Example:\n  anvil-agent run /etc/anvil/agent.toml",
    },
    async func({ logLevel, allowUnauthenticatedLoopback }, file) {
      const loaded = await loadConfig(file);
      if (loaded.kind === "invalid") return reportProblems(this, file, loaded.problems, false);
      const config = loaded.model;
      configureLog({ level: logLevel });
      const logger = log(["agent"]);
      const remarks = {
        info: logger.info.bind(logger),
        warn: logger.warn.bind(logger),
        error: logger.error.bind(logger),
      };
      let roster: RosterFile<string> | null = null;
      if (config.auth.clients !== undefined) {
        const opened = await RosterFile.open(config.auth.clients, {
          files: systemFiles,
          clock: systemClock,
          sha256,
          remarks,
          read: readClients,
        });
        if (opened.kind === "invalid") {
          return reportProblems(this, config.auth.clients, opened.problems, false);
        }
        roster = opened.model;
      }
      const unsafe = bindRefusal(config, roster?.roster.size ?? 0, allowUnauthenticatedLoopback);
      if (unsafe !== null) return reportRefusal(this, unsafe, false);
      const known = roster;
      const asked = Promise.withResolvers<void>();
      const ignore = onStopSignal((signal) => {
        remarks.info("{signal} received", { signal });
        asked.resolve();
      });
      const agent = await startAgent(config, {
        ...systemPorts(config, build, remarks),
        random: systemRandom,
        listen: ({ hostname, port }, handler) =>
          serve({
            hostname,
            port,
            handler,
            onError: (error) => remarks.error("a handler failed: {error}", { error }),
          }),
        roster: known === null ? null : () => known.roster,
      });
      if (agent.kind === "refused") {
        ignore();
        return reportRefusal(this, agent, false);
      }
      remarks.info("node {node} listens on {port}", {
        node: config.node,
        port: agent.port,
        epoch: agent.epoch,
      });
      void known?.follow();
      await asked.promise;
      await agent.stop();
      known?.close();
      ignore();
    },
  });
}
