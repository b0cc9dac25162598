/**
 * anvil-agent: one per host. Typed operations, done once, on record, by someone allowed to.
 *
 * @module
 */

import { buildApplication, buildRouteMap } from "@stricli/core";
import { tokensRoutesOf } from "../../lib/credential/tokens_command.ts";
import { systemBuild, systemTerminal } from "../../lib/host/terminal.ts";
import { scopeShape } from "../../lib/operation/authorize.ts";
import { runProgram } from "../../lib/terminal/program.ts";
import { readClients } from "./clients.ts";
import { auditRoutes } from "./commands/audit.ts";
import { checkCommand } from "./commands/check.ts";
import { runCommand } from "./commands/run.ts";
import { schemaCommand } from "./commands/schema.ts";
import { unitCommand } from "./commands/unit.ts";

const build = systemBuild("anvil-agent");

const app = buildApplication(
  buildRouteMap({
    routes: {
      run: runCommand(build),
      check: checkCommand(build),
      schema: schemaCommand,
      unit: unitCommand,
      tokens: tokensRoutesOf({
        name: "anvil-agent",
        scopes: ["node.*:read", "*:read", "operations.*", "*"],
        scopeOf: (text) => scopeShape.safeParse(text).success ? text : null,
        fallback: null,
        read: readClients,
      }),
      audit: auditRoutes,
    },
    docs: {
      brief: "Typed operations on this host, done once and on record",
      fullDescription:
        "One agent per host. Its operations follow from the host's roles; each key runs once, and\n" +
        "answers truthfully after a crash; every call is in a chained audit.\n\n" +
        "Exit codes: 0 done, 1 refused or failed, 2 the command line or a file is wrong.\n" +
        "--version [--json] says which build this is.",
    },
  }),
  { name: "anvil-agent", scanner: { caseStyle: "allow-kebab-for-camel" } },
);

Deno.exit(await runProgram(app, build, Deno.args, systemTerminal()));
