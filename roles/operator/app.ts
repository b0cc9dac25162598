/**
 * The command line of anvil-operator.
 *
 * @module
 */

import { buildApplication, buildRouteMap } from "@stricli/core";
import { completionsCommand } from "../../lib/terminal/completion.ts";
import { auditRoutes } from "./commands/audit.ts";
import { benchmarksRoutes } from "./commands/benchmarks.ts";
import { bootstrapRoutes } from "./commands/bootstrap.ts";
import { capabilityCommand } from "./commands/capability.ts";
import { configRoutes } from "./commands/config.ts";
import { dashboardCommand } from "./commands/dashboard.ts";
import { doctorCommand } from "./commands/doctor.ts";
import { evidenceRoutes } from "./commands/evidence.ts";
import { fleetRoutes } from "./commands/fleet.ts";
import { homeRoutes } from "./commands/home.ts";
import { modeRoutes } from "./commands/mode.ts";
import { nodeRoutes } from "./commands/node.ts";
import { opRoutes } from "./commands/op.ts";
import { promoteRoutes } from "./commands/promote.ts";
import { schemaCommand } from "./commands/schema.ts";
import { servesRoutes } from "./commands/serves.ts";
import { tokensRoutes } from "./commands/tokens.ts";
import { topologyRoutes } from "./commands/topology.ts";
import type { Operator } from "./operator.ts";

/** The program's name. */
export const NAME = "anvil-operator";

/** Its commands, on `operator`. */
export function operatorApp(operator: Operator) {
  return buildApplication(
    buildRouteMap({
      routes: {
        topology: topologyRoutes(operator),
        home: homeRoutes(operator),
        fleet: fleetRoutes(operator),
        capability: capabilityCommand(operator),
        audit: auditRoutes(operator),
        node: nodeRoutes(operator),
        op: opRoutes(operator),
        serves: servesRoutes(operator),
        mode: modeRoutes(operator),
        promote: promoteRoutes(operator),
        config: configRoutes(operator),
        evidence: evidenceRoutes(operator),
        benchmarks: benchmarksRoutes(operator),
        tokens: tokensRoutes(operator),
        bootstrap: bootstrapRoutes(operator),
        dashboard: dashboardCommand(operator),
        schema: schemaCommand,
        doctor: doctorCommand(operator),
        completions: completionsCommand(NAME),
      },
      docs: {
        brief: "See and steer a fleet of model-serving hosts",
        fullDescription:
          "The fleet is described in topology.toml, reviewed in git, and materialized into a home that\n" +
          "no branch switch can change. Every command reads what is live there.\n\n" +
          "Exit codes: 0 done, 1 refused or failed, 2 the command line or a file is wrong.\n" +
          "--version [--json] says which build this is.\n\n" +
          "Examples:\n  anvil-operator topology validate fleet/examples/*/topology.toml\n" +
          "  anvil-operator home materialize --repo ~/fleet --rev main\n" +
          "  anvil-operator topology resolve --target role:voice",
      },
    }),
    { name: NAME, scanner: { caseStyle: "allow-kebab-for-camel" } },
  );
}
