/** `anvil-operator capability [ALIAS]`. @module */

import { buildCommand } from "@stricli/core";
import type { Json } from "../../../lib/core/canonical_json.ts";
import type { HostTold } from "../../../lib/dispatch/capability.ts";
import { capabilityMatrix } from "../../../lib/dispatch/capability_matrix.ts";
import type { ProgramContext } from "../../../lib/terminal/program.ts";
import type { Target } from "../../../lib/topology/resolve.ts";
import { CAPABILITY_ASKS, hostTold, proofsOf } from "../capability_told.ts";
import { capabilityText, matrixText } from "../capability_text.ts";
import { prepareDispatch } from "../dispatch.ts";
import { DISPATCH_FLAGS, type DispatchFlags, targetFlag } from "../dispatch_flags.ts";
import { expectedServes } from "../expected_serves.ts";
import { runLooks } from "../look.ts";
import type { Operator } from "../operator.ts";
import { type Also, reportOutcomes } from "../outcome_report.ts";
import { reportFailure } from "../report.ts";

/** Says where an alias is served, by what, and who says so. */
export function capabilityCommand(operator: Operator) {
  return buildCommand<DispatchFlags & { readonly target: Target }, [string?], ProgramContext>({
    parameters: {
      flags: { ...DISPATCH_FLAGS, target: { ...targetFlag(operator), default: "all" } },
      positional: {
        kind: "tuple",
        parameters: [{
          brief: "An alias, as llm.primary; without it all there are",
          parse: aliasOf,
          optional: true,
          placeholder: "ALIAS",
        }],
      },
    },
    docs: {
      brief: "Say where an alias is served, by which model, and from whose perspective",
      fullDescription:
        "Three perspectives are asked of every host: its agent (what the manifest declares and its\n" +
        "runtime runs), its router (what the alias leads to), and a probe of process and engine.\n" +
        "served, wrong, unreachable, unknown, idle and empty are different answers: only idle and\n" +
        "empty are a no. Compared with what the home declares; with --topology nothing is.\n\n" +
        "With ALIAS: exit 0 only when it is served somewhere. Without: 0 when every host has an\n" +
        "outcome and one at least is done.\n\n" +
        "Examples:\n  anvil-operator capability\n  anvil-operator capability llm.primary\n" +
        "  anvil-operator capability llm.primary --target host:gpu-a --json",
    },
    func(flags, alias) {
      return lookAtCapability(this, operator, flags, alias ?? null);
    },
  });
}

/** Asks every host of the target, once; of `only`, where one is named. */
export async function lookAtCapability(
  context: ProgramContext,
  operator: Operator,
  flags: DispatchFlags & { readonly target: Target },
  only: string | null,
  also: Also = () => {},
): Promise<void> {
  const ready = await prepareDispatch(operator, flags, flags.target);
  if (ready.kind !== "ready") return reportFailure(context, ready, flags.json);
  const { index } = ready;
  const { home = operator.home ?? undefined } = flags;
  const expected = flags.topology !== undefined || home === undefined
    ? []
    : await expectedServes(operator, home, index.fleet);
  if ("kind" in expected) return reportFailure(context, expected, flags.json);
  const { dispatched, kept } = await runLooks<HostTold>(context, operator, ready, flags, {
    asksOf: () => CAPABILITY_ASKS,
    followUpOf: () => proofsOf(only),
    // What it said of itself stands in `agent` already.
    outcomeOf: ({ proof }) => ({ ...proof, result: null }),
    keep: (host, looked) => hostTold(host, index.hosts.get(host), looked),
  });
  const asked = new Set(ready.plan.hosts.map(({ host }) => host));
  const matrix = capabilityMatrix({
    index,
    told: [...kept.values()],
    expected: expected.filter(({ host }) => asked.has(host)),
    only,
  });
  const [row] = matrix.rows;
  const text = only === null || row === undefined
    ? matrixText(matrix)
    : capabilityText(row, matrix);
  reportOutcomes(context, dispatched, {
    ...flags,
    also,
    show: () => "",
    whole: () => ({ text, data: matrix as unknown as Json }),
  });
  if (only !== null && row?.verdict !== "served") context.exit(1);
}

/** Aliases are free text; one that no router would take is a slip of the hand. */
function aliasOf(text: string): string {
  if (!/^[^\s\p{C}]{1,256}$/u.test(text)) {
    throw new SyntaxError("expected an alias: visible characters without blanks");
  }
  return text;
}
