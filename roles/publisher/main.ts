/**
 * anvil-publisher: one signed candidate per host, on the build host. It touches no endpoint.
 *
 * @module
 */

import { buildApplication, buildRouteMap } from "@stricli/core";
import { systemBuild, systemTerminal } from "../../lib/host/terminal.ts";
import { runProgram } from "../../lib/terminal/program.ts";
import { BUILD_VARIABLES, buildAllCommand } from "./commands/build_all.ts";
import { checkCommand } from "./commands/check.ts";
import { keysRoutes } from "./commands/keys.ts";
import { pruneCommand } from "./commands/prune.ts";
import { publishCommand, withdrawCommand } from "./commands/publish.ts";
import { schemaCommand } from "./commands/schema.ts";
import { serveCommand } from "./commands/serve.ts";

const build = systemBuild("anvil-publisher");

/** What builds get of our environment. */
function buildEnvironment(): Record<string, string> {
  const env: Record<string, string> = {};
  for (const name of BUILD_VARIABLES) {
    const value = Deno.env.get(name);
    if (value !== undefined) env[name] = value;
  }
  return env;
}

const app = buildApplication(
  buildRouteMap({
    routes: {
      publish: publishCommand,
      buildAll: buildAllCommand(buildEnvironment),
      withdraw: withdrawCommand,
      prune: pruneCommand,
      keys: keysRoutes,
      serve: serveCommand,
      check: checkCommand,
      schema: schemaCommand,
    },
    docs: {
      brief: "One signed candidate per host",
      fullDescription:
        "Runs where hosts' systems and bundles are built. Hosts come and fetch; nothing is sent to\n" +
        "them. A pointer moves only when every byte behind it is in place.\n\n" +
        "Exit codes: 0 done, 1 refused or failed, 2 the command line or a file is wrong.\n" +
        "--version [--json] says which build this is.",
    },
  }),
  { name: "anvil-publisher", scanner: { caseStyle: "allow-kebab-for-camel" } },
);

Deno.exit(await runProgram(app, build, Deno.args, systemTerminal()));
