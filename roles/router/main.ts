/**
 * anvil-router: one per model-serving host. Relays each request once, to one member whose identity
 * was checked, and says truthfully how it ended.
 *
 * @module
 */

import { buildApplication, buildRouteMap } from "@stricli/core";
import { systemBuild, systemTerminal } from "../../lib/host/terminal.ts";
import { runProgram } from "../../lib/terminal/program.ts";
import { checkCommand } from "./commands/check.ts";
import { runCommand } from "./commands/run.ts";
import { schemaCommand } from "./commands/schema.ts";
import { tokensRoutes } from "./commands/tokens.ts";

const build = systemBuild("anvil-router");

const app = buildApplication(
  buildRouteMap({
    routes: {
      run: runCommand(build),
      check: checkCommand,
      schema: schemaCommand,
      tokens: tokensRoutes,
    },
    docs: {
      brief: "Relay model requests from aliases to identity-checked members",
      fullDescription:
        "One router per model-serving host. It reads router.toml once at start, relays each request\n" +
        "exactly once to one healthy member, and never retries or falls back.\n\n" +
        "Exit codes: 0 done, 1 refused or failed, 2 the command line or a file is wrong.\n" +
        "--version [--json] says which build this is.",
    },
  }),
  { name: "anvil-router", scanner: { caseStyle: "allow-kebab-for-camel" } },
);

Deno.exit(await runProgram(app, build, Deno.args, systemTerminal()));
