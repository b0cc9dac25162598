/** `anvil-operator home ...`. @module */

import { buildRouteMap } from "@stricli/core";
import type { Operator } from "../operator.ts";
import { adoptCommand } from "./home_adopt.ts";
import { materializeCommand, rollbackCommand } from "./home_change.ts";
import { diffCommand } from "./home_diff.ts";
import { historyCommand, statusCommand, verifyCommand } from "./home_look.ts";

/** The commands on the home. */
export function homeRoutes(operator: Operator) {
  return buildRouteMap({
    routes: {
      materialize: materializeCommand(operator),
      status: statusCommand(operator),
      verify: verifyCommand(operator),
      rollback: rollbackCommand(operator),
      history: historyCommand(operator),
      diff: diffCommand(operator),
      adopt: adoptCommand(operator),
    },
    docs: { brief: "Materialize reviewed configuration, look at it, roll it back" },
  });
}
