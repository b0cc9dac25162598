/** `anvil-publisher serve`. @module */

import { buildCommand } from "@stricli/core";
import { systemClock } from "../../../lib/host/clock.ts";
import { sha256 } from "../../../lib/host/digest.ts";
import { systemFiles } from "../../../lib/host/files.ts";
import { configureLog, log } from "../../../lib/host/log.ts";
import { serveBounded } from "../../../lib/host/serve_bounded.ts";
import { onStopSignal } from "../../../lib/host/signals.ts";
import { openStatic } from "../../../lib/host/static_file.ts";
import { type ProgramContext, reportRefusal } from "../../../lib/terminal/program.ts";
import { CONFIG_FLAG, configOf } from "../publisher.ts";
import { Site } from "../site.ts";

const LEVELS = ["debug", "info", "warning", "error"] as const;

/** Serves what is published until a stop signal. */
export const serveCommand = buildCommand<
  { readonly config: string; readonly logLevel: (typeof LEVELS)[number] },
  [],
  ProgramContext
>({
  parameters: {
    flags: {
      config: CONFIG_FLAG,
      logLevel: {
        kind: "enum",
        values: LEVELS,
        brief: "Least level that is logged",
        default: "info",
      },
    },
    positional: { kind: "tuple", parameters: [] },
  },
  docs: {
    brief: "Serve what is published until SIGTERM or Ctrl-C",
    fullDescription:
      "Pointers and blobs over HTTP, read only; it needs no key, and `publish` runs beside it. Any\n" +
      "web server may serve the folder `public` instead: see docs/guides/publishing.md.\n\n" +
      "Example:\n  anvil-publisher serve --config /etc/anvil/publisher.toml",
  },
  async func({ config: file, logLevel }) {
    const config = await configOf(this, file, false);
    if (config === null) return;
    configureLog({ level: logLevel });
    const logger = log(["publisher"]);
    const remarks = {
      info: logger.info.bind(logger),
      warn: logger.warn.bind(logger),
      error: logger.error.bind(logger),
    };
    const site = new Site({
      root: config.root,
      files: systemFiles,
      openStatic,
      sha256,
      remarks,
      responses: config.serve.responses,
      idleMs: config.serve.idle_seconds * 1000,
    });
    const asked = Promise.withResolvers<void>();
    const ignore = onStopSignal((signal) => {
      remarks.info("{signal} received", { signal });
      asked.resolve();
    });
    const { connections, idle_seconds } = config.serve;
    const server = serveBounded({
      ...config.listen,
      connections,
      idleMs: idle_seconds * 1000,
      handler: site.handle,
      onFull: (open) => remarks.warn("one connection too many: {open} are open", { open }),
      onError: (error) => remarks.warn("an answer broke off: {error}", { error }),
    });
    if (server.kind === "refused") {
      ignore();
      return reportRefusal(this, server, false);
    }
    remarks.info("serves what is published on port {port}", { port: server.port });
    await asked.promise;
    const over = new AbortController();
    await Promise.race([
      server.shutdown(),
      systemClock.sleep(config.serve.drain_seconds * 1000, over.signal).catch(() => {}),
    ]);
    over.abort();
    if (site.open > 0) remarks.warn("{open} answers were cut off", { open: site.open });
    ignore();
  },
});
