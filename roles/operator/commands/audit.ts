/** `anvil-operator audit tail`. @module */

import { textFlag } from "../flags.ts";
import { buildCommand, buildRouteMap } from "@stricli/core";
import type { ProgramContext } from "../../../lib/terminal/program.ts";
import type { Target } from "../../../lib/topology/resolve.ts";
import { type AuditRow, auditText, auditTold, newestOf } from "../audit_rows.ts";
import { prepareDispatch } from "../dispatch.ts";
import { DISPATCH_FLAGS, type DispatchFlags, targetFlag } from "../dispatch_flags.ts";
import { runLooks } from "../look.ts";
import { readAsk } from "../one_host.ts";
import type { Operator } from "../operator.ts";
import { reportOutcomes } from "../outcome_report.ts";
import { reportFailure } from "../report.ts";
import { short } from "../told.ts";

interface TailFlags extends DispatchFlags {
  readonly target: Target;
  readonly lines: number;
  readonly reads: boolean;
  readonly principal?: string;
  readonly operation?: string;
}

/** The commands on the audit. */
export function auditRoutes(operator: Operator) {
  return buildRouteMap({
    routes: { tail: tailCommand(operator) },
    docs: { brief: "See what was done on hosts, and by whom" },
  });
}

function tailCommand(operator: Operator) {
  return buildCommand<TailFlags, [], ProgramContext>({
    parameters: {
      flags: {
        ...DISPATCH_FLAGS,
        target: { ...targetFlag(operator), default: "all" },
        lines: {
          kind: "parsed",
          parse: lineCount,
          default: "50",
          brief: "How many, 1 to 1000, of all hosts together",
          placeholder: "N",
        },
        reads: {
          kind: "boolean",
          default: false,
          withNegated: false,
          brief: "Reads too, not only plans and what was applied",
        },
        principal: textFlag("Only what this client did", "NAME"),
        operation: textFlag("Only this operation", "NOUN.VERB"),
      },
    },
    docs: {
      brief: "Print the newest audit records of all hosts, in the order in which they happened",
      fullDescription:
        "Times are put on our clock where a host's is more than two seconds away. A start whose end is\n" +
        "there is left out; one without says `begun`. A host that does not tell is named below.\n\n" +
        "Examples:\n  anvil-operator audit tail\n" +
        "  anvil-operator audit tail --target host:gpu-a --reads --lines 200\n" +
        "  anvil-operator audit tail --operation serves.up --json",
    },
    async func(flags) {
      const { lines, reads, principal, operation } = flags;
      const ready = await prepareDispatch(operator, flags, flags.target);
      if (ready.kind !== "ready") return reportFailure(this, ready, flags.json);
      let rows: readonly AuditRow[] = [];
      let unreadable = 0;
      // A start and its end are two records, and what is not asked for is left out afterwards.
      const wide = principal !== undefined || operation !== undefined;
      const most = wide ? 1000 : Math.min(1000, lines * 2);
      const narrow = readAsk("audit.tail", { most, actions: ["plan", "apply"] });
      const plain = readAsk("audit.tail", { most: 1000 });
      const { dispatched } = await runLooks(this, operator, ready, flags, {
        asksOf: () => [reads ? readAsk("audit.tail", { most }) : narrow],
        // An older agent does not know how to choose: then it is done here.
        followUpOf: () => (answers) =>
          answers.get("audit.tail")?.code === "input_invalid" ? [["audit.tail", plain]] : [],
        mostBytes: 512 * 1024,
        outcomeOf: ({ proof, answers }) => {
          const told = answers.get("audit.tail");
          // The rows are read already; what came over the wire is not kept.
          return told === undefined ? proof : { ...told, result: null, tookMs: proof.tookMs };
        },
        keep: (host, looked) => {
          const told = looked?.answers.get("audit.tail");
          if (told === undefined) return;
          const read = auditTold(host, told);
          unreadable += read.unreadable;
          const chosen = read.rows.filter((row) =>
            (reads || row.action !== "read") && (principal ?? row.principal) === row.principal &&
            (operation ?? row.operation) === row.operation
          );
          rows = newestOf(rows, chosen, lines);
        },
      });
      const silent = dispatched.outcomes.filter(({ kind }) => kind !== "done");
      reportOutcomes(this, dispatched, {
        ...flags,
        show: () => "",
        whole: () => ({
          text: auditText(rows) +
            silent.map(({ host, code, kind, detail }) =>
              `${host}: not told: ${code ?? kind}: ${short(detail)}\n`
            ).join("") +
            (unreadable === 0 ? "" : `${unreadable} records could not be read\n`),
          data: { records: [...rows], unreadable },
        }),
      });
    },
  });
}

function lineCount(text: string): number {
  if (!/^\d{1,4}$/.test(text) || Number(text) < 1 || Number(text) > 1000) {
    throw new SyntaxError("expected a number from 1 to 1000");
  }
  return Number(text);
}
