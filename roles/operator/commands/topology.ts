/** `anvil-operator topology ...`. @module */

import { buildRouteMap } from "@stricli/core";
import type { Operator } from "../operator.ts";
import { explainCommand } from "./topology_explain.ts";
import { resolveCommand } from "./topology_resolve.ts";
import { fingerprintCommand, showCommand, viewCommand } from "./topology_show.ts";
import { validateCommand } from "./topology_validate.ts";

/** The commands on a topology. */
export function topologyRoutes(operator: Operator) {
  return buildRouteMap({
    routes: {
      validate: validateCommand(operator),
      show: showCommand(operator),
      explain: explainCommand(operator),
      fingerprint: fingerprintCommand(operator),
      resolve: resolveCommand(operator),
      view: viewCommand(operator),
    },
    docs: { brief: "Check, show, explain and resolve the description of a fleet" },
  });
}
