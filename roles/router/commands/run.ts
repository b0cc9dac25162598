/** `anvil-router run FILE`. @module */

import { buildCommand } from "@stricli/core";
import type { Build } from "../../../lib/core/version.ts";
import { acceptTcp } from "../../../lib/host/accept.ts";
import { systemClock } from "../../../lib/host/clock.ts";
import { sha256 } from "../../../lib/host/digest.ts";
import { systemFiles } from "../../../lib/host/files.ts";
import { tcpDial } from "../../../lib/host/dial.ts";
import { configureLog, log } from "../../../lib/host/log.ts";
import { within } from "../../../lib/host/paths.ts";
import { http1Upstream } from "../../../lib/relay/http1.ts";
import { systemRandom } from "../../../lib/host/random.ts";
import { openRecordFile } from "../../../lib/host/record_sink.ts";
import { systemResidentBytes } from "../../../lib/host/terminal.ts";
import { serve } from "../../../lib/host/serve.ts";
import { systemSpans } from "../../../lib/host/spans.ts";
import { onStopSignal } from "../../../lib/host/signals.ts";
import {
  type ProgramContext,
  reportProblems,
  reportRefusal,
} from "../../../lib/terminal/program.ts";
import { readAgentTokens } from "../agent_tokens.ts";
import type { RouterRoster } from "../clients.ts";
import { loadConfig } from "../config_file.ts";
import { intentFile } from "../intent_file.ts";
import { openRoster, type RosterFile } from "../roster_file.ts";
import { Router } from "../router.ts";
import { FILE } from "./check.ts";

const LEVELS = ["debug", "info", "warning", "error"] as const;

/** Largest decision file, and how many full ones are kept. */
const DECISIONS = { maxFileBytes: 64 * 1024 * 1024, keep: 4 };

/** A second stop signal within so many milliseconds is the first one again. */
const SAME_SIGNAL_MS = 500;

/** Runs the router until a stop signal. */
export function runCommand(build: Build) {
  return buildCommand<{ logLevel: (typeof LEVELS)[number] }, [string], ProgramContext>({
    parameters: {
      flags: {
        logLevel: {
          kind: "enum",
          values: LEVELS,
          brief: "Least level that is logged",
          default: "info",
        },
      },
      positional: FILE,
    },
    docs: {
      brief: "Run the router until SIGTERM or Ctrl-C",
      fullDescription:
        "Reads FILE once, listens, and probes every member. The first stop signal drains: running\n" +
        "requests may finish within limits.drain_seconds. A second one ends them now.\n\n" +
        "Example:\n  anvil-router run /etc/anvil/router.toml",
    },
    async func({ logLevel }, file) {
      const loaded = await loadConfig(file);
      if (loaded.kind === "invalid") return reportProblems(this, file, loaded.problems, false);
      const { config, digest } = loaded.model;
      const tokens = await readAgentTokens(config, systemFiles);
      if (tokens.kind === "invalid") return reportProblems(this, file, tokens.problems, false);
      configureLog({ level: logLevel });
      const logger = log(["router"]);
      const remarks = {
        info: logger.info.bind(logger),
        warn: logger.warn.bind(logger),
        error: logger.error.bind(logger),
      };
      let clients: RosterFile | null = null;
      if (config.auth.clients !== undefined) {
        const opened = await openRoster(config.auth.clients, {
          files: systemFiles,
          clock: systemClock,
          sha256,
          remarks,
        });
        if (opened.kind === "invalid") {
          return reportProblems(this, config.auth.clients, opened.problems, false);
        }
        clients = opened.model;
      }
      const roster = clients;
      const decisions = config.state === undefined ? null : openRecordFile({
        ...DECISIONS,
        path: within(config.state.dir, "decisions.jsonl"),
        onTrouble: (cause) =>
          cause === null
            ? remarks.info("decisions are recorded again", {})
            : remarks.error("decisions are lost, requests go on: {cause}", { cause }),
      });
      const service = new Router(
        config,
        {
          clock: systemClock,
          random: systemRandom,
          upstream: http1Upstream(tcpDial, systemClock),
          remarks,
          decisions,
          listen: ({ hostname, port }, handler) =>
            serve({
              hostname,
              port,
              handler,
              onError: (error) => remarks.error("a handler failed: {error}", { error }),
            }),
          accept: ({ hostname, port }, reusePort, take) =>
            acceptTcp({
              hostname,
              port,
              reusePort,
              take,
              onError: (error) => remarks.warn("a connection was not accepted: {error}", { error }),
            }),
          agentToken: (tier) => tokens.model.get(tier.config.id) ?? null,
          traced: systemSpans("anvil-router"),
          intents: config.state === undefined
            ? null
            : intentFile(within(config.state.dir, "intent.json"), systemFiles),
          residentBytes: systemResidentBytes,
          version: build.version,
          buildDigest: build.build_digest,
          configDigest: digest,
        },
        roster === null ? null : (): RouterRoster => roster.roster,
      );
      const asked = Promise.withResolvers<void>();
      const hurry = new AbortController();
      let askedAt: number | null = null;
      const ignore = onStopSignal((signal) => {
        remarks.info("{signal} received", { signal });
        const now = systemClock.monotonic();
        askedAt ??= now;
        asked.resolve();
        // One Ctrl-C can arrive twice, from the terminal and from a launcher that passes it on.
        if (now - askedAt >= SAME_SIGNAL_MS) hurry.abort();
      });
      const refusal = await service.start();
      if (refusal !== null) {
        ignore();
        return reportRefusal(this, refusal, false);
      }
      remarks.info("node {node} listens: data on {data}, admin on {admin}", {
        node: config.node,
        ...service.ports,
        config_digest: digest,
      });
      void roster?.follow();
      await asked.promise;
      await service.stop(hurry.signal);
      roster?.close();
      await decisions?.close();
      ignore();
    },
  });
}
