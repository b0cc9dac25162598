/** `anvil-operator mode ...`. @module */

import { buildCommand, buildRouteMap } from "@stricli/core";
import type { ProgramContext } from "../../../lib/terminal/program.ts";
import {
  type DestructiveFlags,
  destructiveFlags,
  DRAIN_FLAG,
  lookFlags,
  namePositional,
  plainName,
  yes,
} from "../change_flags.ts";
import { runChange } from "../change_run.ts";
import { modeText, reachedText } from "../change_text.ts";
import { lookAtOne, type TargetFlags } from "../one_host.ts";
import type { Operator } from "../operator.ts";
import { changePlanText } from "../plan_text.ts";
import { LIVE } from "./serves.ts";

/** The commands on exclusive modes. */
export function modeRoutes(operator: Operator) {
  return buildRouteMap({
    routes: {
      status: statusCommand(operator),
      preview: previewCommand(operator),
      enter: enterCommand(operator),
      leave: leaveCommand(operator),
    },
    docs: { brief: "Look at, enter and leave the exclusive modes of a host" },
  });
}

interface Drain {
  readonly drain: number;
}
interface Start {
  readonly start?: readonly string[];
}

const MODE = namePositional("The mode's name", "MODE");
const START = {
  kind: "parsed",
  parse: plainName,
  variadic: true,
  optional: true,
  brief: "A serve that comes back, instead of those that entering stopped; repeat it for more",
  placeholder: "SERVE",
} as const;

function statusCommand(operator: Operator) {
  return buildCommand<TargetFlags, [], ProgramContext>({
    parameters: { flags: lookFlags(operator) },
    docs: {
      brief: "Say which modes are in force, and how the newest change is",
      fullDescription: "Example:\n  anvil-operator mode status --target host:gpu-a",
    },
    async func(flags) {
      await lookAtOne(this, operator, flags, { name: "mode.status", input: {}, show: modeText });
    },
  });
}

function previewCommand(operator: Operator) {
  return buildCommand<
    TargetFlags & Drain & Start & { readonly leave: boolean },
    [string],
    ProgramContext
  >({
    parameters: {
      flags: {
        ...lookFlags(operator),
        drain: DRAIN_FLAG,
        leave: yes("The plan of leaving it (default: of entering it)"),
        start: START,
      },
      positional: MODE,
    },
    docs: {
      brief: "Show the plan of entering or leaving a mode; change nothing",
      fullDescription: "Examples:\n  anvil-operator mode preview studio --target host:gpu-a\n" +
        "  anvil-operator mode preview studio --leave --target host:gpu-a",
    },
    async func(flags, mode) {
      const { drain: drain_seconds, leave } = flags;
      const action = leave ? "leave" : "enter";
      const input = { mode, drain_seconds, action, ...startOf(flags) };
      await lookAtOne(this, operator, flags, { name: "mode.preview", input, show: changePlanText });
    },
  });
}

function enterCommand(operator: Operator) {
  return buildCommand<DestructiveFlags & Drain, [string], ProgramContext>({
    parameters: {
      flags: { ...destructiveFlags(operator), drain: DRAIN_FLAG },
      positional: MODE,
    },
    docs: {
      brief: "Enter a mode: its competitors stop, its serves start",
      fullDescription:
        "Without --confirm the plan is shown and nothing is done. A plan that has no " +
        "way back is refused.\n\n" + LIVE + "\n\nExamples:\n" +
        "  anvil-operator mode enter studio --target host:gpu-a\n" +
        "  anvil-operator mode enter studio --target host:gpu-a --drain 300 --confirm",
    },
    async func({ drain: drain_seconds, ...flags }, mode) {
      await runChange(this, operator, flags, {
        name: "mode.enter",
        input: { mode, drain_seconds },
        destructive: true,
        plan: changePlanText,
        show: reachedText,
        more: "promote status",
      });
    },
  });
}

function leaveCommand(operator: Operator) {
  return buildCommand<DestructiveFlags & Drain & Start, [string], ProgramContext>({
    parameters: {
      flags: { ...destructiveFlags(operator), drain: DRAIN_FLAG, start: START },
      positional: MODE,
    },
    docs: {
      brief: "Leave a mode: its serves stop, what it displaced starts again",
      fullDescription: "Without --confirm the plan is shown and nothing is done.\n\n" + LIVE +
        "\n\nExample:\n  anvil-operator mode leave studio --target host:gpu-a --confirm",
    },
    async func({ drain: drain_seconds, ...flags }, mode) {
      await runChange(this, operator, flags, {
        name: "mode.leave",
        input: { mode, drain_seconds, ...startOf(flags) },
        destructive: true,
        plan: changePlanText,
        show: reachedText,
        more: "promote status",
      });
    },
  });
}

function startOf({ start = [] }: Start): { readonly start?: readonly string[] } {
  return start.length === 0 ? {} : { start };
}
