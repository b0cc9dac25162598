/**
 * Commands on one host: the target has to be one, and there is one answer.
 *
 * @module
 */

import type { Json } from "../../lib/core/canonical_json.ts";
import { type Refusal, refuse } from "../../lib/core/refusal.ts";
import type { Outcome } from "../../lib/dispatch/outcome.ts";
import type { CallAsk } from "../../lib/dispatch/visit.ts";
import type { ProgramContext } from "../../lib/terminal/program.ts";
import type { Target } from "../../lib/topology/resolve.ts";
import { prepareDispatch, type Ready, runDispatch } from "./dispatch.ts";
import type { DispatchFlags } from "./dispatch_flags.ts";
import type { WrongFile } from "./fleet_source.ts";
import type { Operator } from "./operator.ts";
import { reportOutcomes } from "./outcome_report.ts";
import { reportFailure } from "./report.ts";

/** Flags of a command with a target. */
export type TargetFlags = DispatchFlags & { readonly target: Target };

/** As `prepareDispatch`, for a target that is one host. */
export async function prepareOne(
  operator: Operator,
  flags: TargetFlags,
): Promise<Ready | WrongFile | Refusal> {
  const ready = await prepareDispatch(operator, flags, flags.target);
  if (ready.kind !== "ready" || ready.plan.hosts.length === 1) return ready;
  return refuse(
    "one_host_only",
    `the target is ${ready.plan.hosts.length} hosts; this is asked of one at a time`,
    "name it with --target host:<id>",
  );
}

/** A read as an ask. */
export function readAsk(name: string, input: Json): CallAsk {
  return { kind: "call", name, input, dryRun: false, confirm: false, key: "this-is-a-read" };
}

/** Asks one host for a read and shows its result. */
export async function lookAtOne(
  context: ProgramContext,
  operator: Operator,
  flags: TargetFlags,
  { name, input, show }: {
    readonly name: string;
    readonly input: Json;
    readonly show: (outcome: Outcome) => string;
  },
): Promise<void> {
  const ready = await prepareOne(operator, flags);
  if (ready.kind !== "ready") return reportFailure(context, ready, flags.json);
  const dispatched = await runDispatch(context, operator, ready, flags, readAsk(name, input));
  reportOutcomes(context, dispatched, { ...flags, show });
}
