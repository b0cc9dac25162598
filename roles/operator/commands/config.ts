/** `anvil-operator config ...`: the router's configuration of one host. @module */

import { buildCommand, buildRouteMap } from "@stricli/core";
import { type ProgramContext, reportRefusal } from "../../../lib/terminal/program.ts";
import { type DestructiveFlags, destructiveFlags } from "../change_flags.ts";
import { runChange } from "../change_run.ts";
import { reachedText } from "../change_text.ts";
import { readText } from "../operation_input.ts";
import type { Operator } from "../operator.ts";
import { changePlanText } from "../plan_text.ts";
import { LIVE } from "./serves.ts";

/** The commands on configurations. */
export function configRoutes(operator: Operator) {
  return buildRouteMap({
    routes: { install: installCommand(operator), restore: restoreCommand(operator) },
    docs: { brief: "Install the router's configuration on a host, or put the last one back" },
  });
}

const FILE = {
  kind: "tuple",
  parameters: [{ brief: "The whole router.toml", parse: String, placeholder: "FILE" }],
} as const;

function installCommand(operator: Operator) {
  return buildCommand<DestructiveFlags, [string], ProgramContext>({
    parameters: { flags: destructiveFlags(operator), positional: FILE },
    docs: {
      brief: "Validate, write, restart the router, and restore what does not run",
      fullDescription:
        "The installed router judges the file first. Without --confirm the plan is " +
        "shown and nothing is done.\n\n" + LIVE + "\n\nExample:\n" +
        "  anvil-operator config install router.toml --target host:gpu-a --confirm",
    },
    async func(flags, file) {
      const config = await readText(operator, "FILE", file);
      if (config.kind === "refused") return reportRefusal(this, config, flags.json, 2);
      await runChange(this, operator, flags, {
        name: "router.config-install",
        input: { config: config.text },
        destructive: true,
        plan: changePlanText,
        show: reachedText,
        more: "promote status",
      });
    },
  });
}

function restoreCommand(operator: Operator) {
  return buildCommand<DestructiveFlags, [], ProgramContext>({
    parameters: { flags: destructiveFlags(operator) },
    docs: {
      brief: "Install the configuration that the last change replaced",
      fullDescription: "Without --confirm the plan is shown and nothing is done.\n\nExample:\n" +
        "  anvil-operator config restore --target host:gpu-a --confirm",
    },
    async func(flags) {
      await runChange(this, operator, flags, {
        name: "router.config-restore",
        input: {},
        destructive: true,
        plan: changePlanText,
        show: reachedText,
        more: "promote status",
      });
    },
  });
}
