/** `anvil-operator serves ...`. @module */

import { buildCommand, buildRouteMap } from "@stricli/core";
import type { Outcome } from "../../../lib/dispatch/outcome.ts";
import type { ProgramContext } from "../../../lib/terminal/program.ts";
import {
  type ChangeFlags,
  changeFlags,
  type DestructiveFlags,
  destructiveFlags,
  lookFlags,
  namePositional,
  yes,
} from "../change_flags.ts";
import { runChange } from "../change_run.ts";
import { prepareDispatch, runDispatch } from "../dispatch.ts";
import { lookAtOne, readAsk, type TargetFlags } from "../one_host.ts";
import type { Operator } from "../operator.ts";
import { type Also, reportOutcomes } from "../outcome_report.ts";
import { downPlanText, restartPlanText, upPlanText } from "../plan_text.ts";
import { reportFailure } from "../report.ts";
import { endedText, logText, serveList, serveSheet } from "../serve_text.ts";

/** The commands on serves. */
export function servesRoutes(operator: Operator) {
  return buildRouteMap({
    routes: {
      list: listCommand(operator),
      status: statusCommand(operator),
      logs: logsCommand(operator),
      up: startCommand(operator, "up", {
        brief: "Start a serve and wait until it is proven, or died",
        more: "The sum of memory is shown first; what does not fit is refused with it.",
      }),
      adopt: startCommand(operator, "adopt", {
        brief: "Take over what runs under a serve's name already, once it is proven",
        more:
          "Nothing is started: what was started by hand just as the manifest says is the serve.",
      }),
      down: stopCommand(operator, "down", downPlanText, {
        brief: "Stop a serve and prove that it is gone",
        more: "A serve that others need is not taken from under them.",
      }),
      restart: stopCommand(operator, "restart", restartPlanText, {
        brief: "Stop a serve, prove it gone, and start it again",
        more: "What is missing for the start is found before anything is stopped.",
      }),
    },
    docs: { brief: "Start, stop and prove models on hosts" },
  });
}

interface Words {
  readonly brief: string;
  readonly more: string;
}

const SERVE = namePositional("The serve's name", "SERVE");

function listCommand(operator: Operator) {
  const flags = lookFlags(operator);
  return buildCommand<TargetFlags, [], ProgramContext>({
    parameters: { flags: { ...flags, target: { ...flags.target, default: "all" } } },
    docs: {
      brief: "Say what runs of the serves of every host",
      fullDescription: "Asked of Docker, supervisors and engines now; nothing is remembered.\n\n" +
        "Exit 0 when every host has an outcome and one at least is done.\n\n" +
        "Examples:\n  anvil-operator serves list\n" +
        "  anvil-operator serves list --target host:gpu-a --json",
    },
    func(flags) {
      return lookAtServes(this, operator, flags);
    },
  });
}

/** Asks every host of the target for its serves, once. */
export async function lookAtServes(
  context: ProgramContext,
  operator: Operator,
  flags: TargetFlags,
  also: Also = () => {},
): Promise<void> {
  const ready = await prepareDispatch(operator, flags, flags.target);
  if (ready.kind !== "ready") return reportFailure(context, ready, flags.json);
  const ask = readAsk("serves.list", {});
  const dispatched = await runDispatch(context, operator, ready, flags, ask);
  reportOutcomes(context, dispatched, { ...flags, also, show: () => "", whole: serveList });
}

function statusCommand(operator: Operator) {
  return buildCommand<TargetFlags, [string], ProgramContext>({
    parameters: { flags: lookFlags(operator), positional: SERVE },
    docs: {
      brief: "Say how one serve is: its process, its port, its health and its model",
      fullDescription: "Example:\n  anvil-operator serves status primary --target host:gpu-a",
    },
    async func(flags, serve) {
      const look = { name: "serves.status", input: { serve }, show: serveSheet };
      await lookAtOne(this, operator, flags, look);
    },
  });
}

function logsCommand(operator: Operator) {
  return buildCommand<TargetFlags & { readonly lines: number }, [string], ProgramContext>({
    parameters: {
      flags: {
        ...lookFlags(operator),
        lines: {
          kind: "parsed",
          parse: lineCount,
          default: "100",
          brief: "How many, 1 to 1000",
          placeholder: "N",
        },
      },
      positional: SERVE,
    },
    docs: {
      brief: "Print the last lines of a serve",
      fullDescription:
        "Example:\n  anvil-operator serves logs primary --target host:gpu-a --lines 20",
    },
    async func(flags, serve) {
      const input = { serve, lines: flags.lines };
      await lookAtOne(this, operator, flags, { name: "serves.logs", input, show: logText });
    },
  });
}

function startCommand(operator: Operator, verb: "up" | "adopt", { brief, more }: Words) {
  return buildCommand<ChangeFlags, [string], ProgramContext>({
    parameters: { flags: changeFlags(operator), positional: SERVE },
    docs: {
      brief,
      fullDescription: `${more}\n\n${LIVE}\n\nExamples:\n` +
        `  anvil-operator serves ${verb} primary --target host:gpu-a --dry-run\n` +
        `  anvil-operator serves ${verb} primary --target host:gpu-a`,
    },
    async func(flags, serve) {
      await runChange(this, operator, flags, {
        name: `serves.${verb}`,
        input: { serve },
        destructive: false,
        plan: upPlanText,
        show: endedText,
        serve,
        more: `serves status ${serve}`,
      });
    },
  });
}

function stopCommand(
  operator: Operator,
  verb: "down" | "restart",
  plan: (outcome: Outcome) => string,
  { brief, more }: Words,
) {
  return buildCommand<DestructiveFlags & { readonly force: boolean }, [string], ProgramContext>({
    parameters: {
      flags: { ...destructiveFlags(operator), force: yes("Kill at once instead of asking") },
      positional: SERVE,
    },
    docs: {
      brief,
      fullDescription: `${more} Without --confirm the plan is shown and nothing is done.\n\n` +
        `${LIVE}\n\nExamples:\n  anvil-operator serves ${verb} primary --target host:gpu-a\n` +
        `  anvil-operator serves ${verb} primary --target host:gpu-a --confirm`,
    },
    async func({ force, ...flags }, serve) {
      await runChange(this, operator, flags, {
        name: `serves.${verb}`,
        input: { serve, force },
        destructive: true,
        plan,
        show: endedText,
        serve,
        more: `serves status ${serve}`,
      });
    },
  });
}

/** What all live runs have in common, for their help. */
export const LIVE =
  "The run's steps are shown as they happen. Ctrl-C ends the command, not the run: it goes on at\n" +
  "the node, and `op status` tells how it is. The same command with --key joins it.";

function lineCount(text: string): number {
  if (!/^\d{1,4}$/.test(text) || Number(text) < 1 || Number(text) > 1000) {
    throw new SyntaxError("expected a number from 1 to 1000");
  }
  return Number(text);
}
