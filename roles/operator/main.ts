/**
 * anvil-operator: a person's view of the fleet, and what they do to it. Never in the inference path.
 *
 * @module
 */

import { systemBuild, systemTerminal } from "../../lib/host/terminal.ts";
import { runProgram } from "../../lib/terminal/program.ts";
import { NAME, operatorApp } from "./app.ts";
import { systemOperator } from "./operator.ts";

const app = operatorApp(systemOperator((name) => Deno.env.get(name)));

Deno.exit(await runProgram(app, systemBuild(NAME), Deno.args, systemTerminal()));
