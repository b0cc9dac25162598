/** `anvil-operator fleet report`. @module */

import { buildCommand } from "@stricli/core";
import { timestamp } from "../../../lib/core/clock.ts";
import { refuse } from "../../../lib/core/refusal.ts";
import { VERSION } from "../../../lib/core/version.ts";
import { removeFiles } from "../../../lib/host/old_files.ts";
import type { ExitCode, ProgramContext } from "../../../lib/terminal/program.ts";
import type { Target } from "../../../lib/topology/resolve.ts";
import { DISPATCH_FLAGS, type DispatchFlags, targetFlag } from "../dispatch_flags.ts";
import type { Operator } from "../operator.ts";
import type { Also } from "../outcome_report.ts";
import { reportData, reportFailure } from "../report.ts";
import { type Report, REPORT_KINDS, type ReportKind, writeReports } from "../report_files.ts";
import { lookAtCapability } from "./capability.ts";
import { lookAtDrift } from "./fleet_drift.ts";
import { lookAtStatus } from "./fleet.ts";
import { lookAtServes } from "./serves.ts";

interface ReportFlags extends DispatchFlags {
  readonly target: Target;
  readonly out: string;
  readonly kinds?: readonly ReportKind[];
  readonly keep: number;
}

/** Writes what the fleet answers as dated files. */
export function reportCommand(operator: Operator) {
  return buildCommand<ReportFlags, [], ProgramContext>({
    parameters: {
      flags: {
        ...DISPATCH_FLAGS,
        target: { ...targetFlag(operator), default: "all" },
        out: { kind: "parsed", parse: String, brief: "The folder of reports", placeholder: "DIR" },
        kinds: {
          kind: "enum",
          values: REPORT_KINDS,
          variadic: ",",
          optional: true,
          brief: "Which (default: all)",
        },
        keep: {
          kind: "parsed",
          parse: count,
          default: "90",
          brief: "Reports of each kind that are kept, 1 to 10000",
          placeholder: "N",
        },
      },
    },
    docs: {
      brief: "Write what the fleet answers as dated files, for a timer or a person",
      fullDescription:
        "YYYY-MM-DDThhmmssZ-KIND.json has the envelope of the command of that name, YYYY-…-KIND.txt\n" +
        "what it prints. Files are whole or not there, and never replace one another; the oldest of a\n" +
        "kind go beyond --keep, and nothing else in the folder is touched. Only reads are sent.\n\n" +
        "Exit 0 when all are written and every look exited 0, drift included; 1 otherwise.\n\n" +
        "Examples:\n  anvil-operator fleet report --out ~/.anvil/reports\n" +
        "  anvil-operator fleet report --out reports --kinds status,drift --keep 30",
    },
    async func(flags) {
      const kinds = [...new Set(flags.kinds ?? REPORT_KINDS)];
      if (flags.topology !== undefined && kinds.includes("drift")) {
        const refusal = refuse(
          "drift_without_home",
          "drift is held against the live set of the home, and --topology names another",
          "leave --topology out, or name --kinds without drift",
        );
        return reportFailure(this, refusal, flags.json);
      }
      const reports: Report[] = [];
      const codes: [ReportKind, ExitCode][] = [];
      for (const kind of kinds) {
        const { report, code } = await made(this, operator, flags, kind);
        reports.push(report);
        codes.push([kind, code]);
      }
      const written = await writeReports(
        { ...operator.ports, removeFiles },
        flags.out,
        reports,
        flags.keep,
      );
      if (written.kind === "refused") return reportFailure(this, written, flags.json);
      const data = { files: [...written.names], exits: Object.fromEntries(codes) };
      const text = () =>
        written.names.map((name) => `${name}\n`).join("") +
        codes.filter(([, code]) => code !== 0).map(([kind, code]) => `${kind}: exit ${code}\n`)
          .join("");
      reportData(this, data, text, flags.json, codes.every(([, code]) => code === 0) ? 0 : 1);
    },
  });
}

/** Makes one: the command itself, before a terminal that keeps what it prints. */
async function made(
  context: ProgramContext,
  operator: Operator,
  flags: ReportFlags,
  kind: ReportKind,
): Promise<{ readonly report: Report; readonly code: ExitCode }> {
  const at = timestamp(operator.ports.clock.now());
  let out = "";
  let text = "";
  let code: ExitCode = 0;
  const kept: ProgramContext = {
    ...context,
    terminal: {
      ...context.terminal,
      out: (said) => void (out += said),
      isTerminal: false,
      color: false,
    },
    exit: (said) => void (code = said),
  };
  await LOOKS[kind](kept, operator, { ...flags, json: true }, (said) => void (text += said));
  const envelope = out === "" ? null : JSON.parse(out);
  const report = { schema: 1, kind, at, by: operator.by, version: VERSION, exit: code, envelope };
  const failed = text === "" ? `nothing could be asked: ${firstProblem(envelope)}\n` : "";
  return {
    code,
    report: {
      kind,
      json: `${JSON.stringify(report)}\n`,
      text: `${kind} of the fleet at ${at}, exit ${code}\n\n${text}${failed}`,
    },
  };
}

function firstProblem(envelope: unknown): string {
  const { problems } = (envelope ?? {}) as { readonly problems?: readonly { code?: string }[] };
  return problems?.[0]?.code ?? "the command said nothing";
}

type Look = (
  context: ProgramContext,
  operator: Operator,
  flags: ReportFlags,
  also: Also,
) => Promise<void>;

const LOOKS: Readonly<Record<ReportKind, Look>> = {
  status: lookAtStatus,
  drift: lookAtDrift,
  capability: (context, operator, flags, also) =>
    lookAtCapability(context, operator, flags, null, also),
  serves: lookAtServes,
};

function count(text: string): number {
  if (!/^\d{1,5}$/.test(text) || Number(text) < 1 || Number(text) > 10_000) {
    throw new SyntaxError("expected a number from 1 to 10000");
  }
  return Number(text);
}
