/** `anvil-operator op ...`. @module */

import { buildCommand, buildRouteMap } from "@stricli/core";
import type { Json } from "../../../lib/core/canonical_json.ts";
import { newId } from "../../../lib/core/ids.ts";
import type { Outcome } from "../../../lib/dispatch/outcome.ts";
import { objectOf } from "../../../lib/dispatch/reply.ts";
import { OPERATION_NAME } from "../../../lib/operation/operation.ts";
import { type ProgramContext, reportRefusal } from "../../../lib/terminal/program.ts";
import { table } from "../../../lib/terminal/table.ts";
import type { Target } from "../../../lib/topology/resolve.ts";
import { KEY_FLAG, yes } from "../change_flags.ts";
import { prepareDispatch, runDispatch } from "../dispatch.ts";
import { DISPATCH_FLAGS, type DispatchFlags, targetFlag } from "../dispatch_flags.ts";
import { readInput } from "../operation_input.ts";
import type { Operator } from "../operator.ts";
import { reportOutcomes, shownJson } from "../outcome_report.ts";
import { reportFailure } from "../report.ts";

/** The commands on operations. */
export function opRoutes(operator: Operator) {
  return buildRouteMap({
    routes: {
      list: listCommand(operator),
      call: callCommand(operator),
      status: statusCommand(operator),
    },
    docs: { brief: "List, call and follow the typed operations of hosts" },
  });
}

type TargetFlags = DispatchFlags & { readonly target: Target };

/** `--recover-via-ssh`. */
const RECOVER_FLAG = {
  kind: "boolean",
  default: false,
  withNegated: false,
  brief: "After proof that the agent is down and got nothing: say how to go on over SSH",
} as const;

function listCommand(operator: Operator) {
  return buildCommand<TargetFlags, [], ProgramContext>({
    parameters: { flags: { ...DISPATCH_FLAGS, target: targetFlag(operator) } },
    docs: {
      brief: "List the operations that hosts have",
      fullDescription:
        "What a host offers follows from its roles. Ask the host; nothing is kept.\n\n" +
        "Example:\n  anvil-operator op list --target host:gpu-a",
    },
    async func(flags) {
      const ready = await prepareDispatch(operator, flags, flags.target);
      if (ready.kind !== "ready") return reportFailure(this, ready, flags.json);
      const dispatched = await runDispatch(this, operator, ready, flags, { kind: "operations" });
      reportOutcomes(this, dispatched, { ...flags, show: shownOperations });
    },
  });
}

function shownOperations({ result }: Outcome, alone: boolean): string {
  const entries = Array.isArray(result) ? result.map((one: Json) => objectOf(one) ?? {}) : [];
  const word = (value: Json | undefined) => typeof value === "string" ? value : "?";
  if (!alone) return `${entries.length} operations`;
  return table(
    ["operation", "effect", "confirm", "scopes", "what"],
    entries.map(({ name, effect, destructive, scopes, brief }) => [
      word(name),
      word(effect),
      destructive === true ? "needed" : "",
      Array.isArray(scopes) ? scopes.map((one: Json) => word(one)).join(" ") : "?",
      word(brief),
    ]),
  );
}

interface CallFlags extends TargetFlags {
  readonly input: string;
  readonly dryRun: boolean;
  readonly confirm: boolean;
  readonly key?: string;
  readonly recoverViaSsh: boolean;
}

function callCommand(operator: Operator) {
  return buildCommand<CallFlags, [string], ProgramContext>({
    parameters: {
      flags: {
        ...DISPATCH_FLAGS,
        target: targetFlag(operator),
        input: {
          kind: "parsed",
          parse: String,
          default: "{}",
          brief: "The operation's input: JSON, @FILE, or - for standard input",
          placeholder: "JSON",
        },
        dryRun: yes("Plan only: show what would be done, change nothing"),
        confirm: yes("Yes to an operation that destroys something"),
        key: KEY_FLAG,
        recoverViaSsh: RECOVER_FLAG,
      },
      positional: {
        kind: "tuple",
        parameters: [{ brief: "noun.verb", parse: operationName, placeholder: "OPERATION" }],
      },
    },
    docs: {
      brief: "Call an operation on one host or on many",
      fullDescription:
        "Each host is proven to be itself, then asked once. A mutation carries a key, printed before\n" +
        "it leaves: when the outcome is may_have_executed, call again with --key and the same input;\n" +
        "the node joins the run or tells how it ended, and never runs it twice.\n\n" +
        "Outcomes: done refused busy unreachable unauthorized wrong_node timed_out may_have_executed.\n" +
        "Exit 0 when every host has one and one at least is done; --require-all asks for all.\n\n" +
        "Examples:\n  anvil-operator op call node.facts --target all --json\n" +
        "  anvil-operator op call operations.cancel --target host:gpu-a " +
        '--input \'{"run":"run-…"}\'',
    },
    async func(flags, name) {
      const input = await readInput(operator, flags.input);
      if (input.kind === "refused") return reportRefusal(this, input, flags.json, 2);
      const ready = await prepareDispatch(operator, flags, flags.target);
      if (ready.kind !== "ready") return reportFailure(this, ready, flags.json);
      const key = flags.key ?? newId("op", operator.dispatch.random);
      let said: string | null = null;
      const { dryRun, confirm } = flags;
      const dispatched = await runDispatch(
        this,
        operator,
        ready,
        flags,
        { kind: "call", name, input: input.value, dryRun, confirm, key },
        () => {
          // Also with --json: whoever is killed now still has the key.
          if (said === null) this.terminal.err(`key: ${key}\n`);
          said = key;
        },
      );
      reportOutcomes(this, dispatched, {
        ...flags,
        key: said,
        show: ({ result }, alone) => shownJson(result, alone),
      });
    },
  });
}

function statusCommand(operator: Operator) {
  return buildCommand<TargetFlags, [string], ProgramContext>({
    parameters: {
      flags: { ...DISPATCH_FLAGS, target: targetFlag(operator) },
      positional: {
        kind: "tuple",
        parameters: [{ brief: "The id of a run", parse: runId, placeholder: "RUN" }],
      },
    },
    docs: {
      brief: "Say how far a run is, or how it ended",
      fullDescription: "Example:\n  anvil-operator op status --target host:gpu-a run-0123…",
    },
    async func(flags, id) {
      const ready = await prepareDispatch(operator, flags, flags.target);
      if (ready.kind !== "ready") return reportFailure(this, ready, flags.json);
      const dispatched = await runDispatch(this, operator, ready, flags, { kind: "run", id });
      reportOutcomes(this, dispatched, {
        ...flags,
        show: ({ result }, alone) => shownJson(result, alone),
      });
    },
  });
}

function operationName(text: string): string {
  if (!OPERATION_NAME.test(text)) throw new SyntaxError("expected noun.verb, as node.facts");
  return text;
}

function runId(text: string): string {
  if (!/^run-[0-9a-f]{24}$/.test(text)) throw new SyntaxError("expected the id of a run, as run-…");
  return text;
}
