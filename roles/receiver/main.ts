/**
 * anvil-receiver: installs the first agent of a host, by five fixed verbs, behind an SSH forced
 * command. Reads no environment, so SSH_ORIGINAL_COMMAND says nothing to it.
 *
 * @module
 */

import { buildApplication, buildRouteMap } from "@stricli/core";
import { systemBuild, systemTerminal } from "../../lib/host/terminal.ts";
import { runProgram } from "../../lib/terminal/program.ts";
import { checkCommand } from "./commands/check.ts";
import { schemaCommand } from "./commands/schema.ts";
import { serveCommand } from "./commands/serve.ts";

const build = systemBuild("anvil-receiver");

const app = buildApplication(
  buildRouteMap({
    routes: {
      serve: serveCommand(build, () => ({
        input: Deno.stdin.readable,
        output: async (bytes) => {
          for (let at = 0; at < bytes.length;) at += await Deno.stdout.write(bytes.subarray(at));
        },
        uid: Deno.uid(),
      })),
      check: checkCommand,
      schema: schemaCommand,
    },
    docs: {
      brief: "Install the first agent of a host by five fixed verbs",
      fullDescription:
        "Run only by sshd, as the forced command of a dedicated account: identity, stage, activate,\n" +
        "status, rollback, and no sixth. It takes no command, path or argument from the caller.\n\n" +
        "Exit codes: 0 done, 1 refused or failed, 2 the command line or a file is wrong.\n" +
        "--version [--json] says which build this is.",
    },
  }),
  { name: "anvil-receiver", scanner: { caseStyle: "allow-kebab-for-camel" } },
);

Deno.exit(await runProgram(app, build, Deno.args, systemTerminal()));
