/** `anvil-operator doctor`: everything the operator stands on, and what to mend. @module */

import { textFlag } from "../flags.ts";
import { buildCommand } from "@stricli/core";
import { within } from "../../../lib/host/paths.ts";
import type { ProgramContext } from "../../../lib/terminal/program.ts";
import { table } from "../../../lib/terminal/table.ts";
import { prepareDispatch } from "../dispatch.ts";
import { DISPATCH_FLAGS, type DispatchFlags } from "../dispatch_flags.ts";
import { yes } from "../change_flags.ts";
import { lookAtHome } from "../doctor/home.ts";
import { exitOf, type Look, unknown } from "../doctor/look.ts";
import {
  lookAtCompletion,
  lookAtDisk,
  lookAtGit,
  lookAtProgram,
  lookAtSsh,
} from "../doctor/machine.ts";
import { lookAtNodes, lookAtPublishers, offline, unasked } from "../doctor/nodes.ts";
import type { Operator } from "../operator.ts";
import { reportData } from "../report.ts";
import { harmless } from "../told.ts";

interface DoctorFlags extends DispatchFlags {
  readonly offline: boolean;
  readonly repo?: string;
  readonly rev: string;
}

/** Looks at everything the operator stands on. */
export function doctorCommand(operator: Operator) {
  return buildCommand<DoctorFlags, [], ProgramContext>({
    parameters: {
      flags: {
        ...DISPATCH_FLAGS,
        requireAll: yes("Exit 0 only when every check passes"),
        offline: yes("Ask nobody: what needs the network is unknown"),
        repo: textFlag("The repository the home is materialized from", "REPO"),
        rev: {
          kind: "parsed",
          parse: String,
          default: "HEAD",
          brief: "Its newest reviewed commit",
          placeholder: "COMMIT",
        },
      },
    },
    docs: {
      brief: "Look at what the operator stands on, and say what to mend",
      fullDescription:
        "Programs, the place of the home and of this program, disk, every byte of the live set, its\n" +
        "age, secrets and their modes, what was left half done; then agents, clocks, versions, ends of\n" +
        "tokens and certificates, publishers. Exits 1 when a check fails. Neither an unknown nor a\n" +
        "warning is a pass: both are printed, with why; with --require-all they exit 1 as well.\n\n" +
        "Example:\n  anvil-operator doctor --repo ~/fleet --rev main",
    },
    async func(flags) {
      const looks = await lookAll(this, operator, flags);
      const text = () =>
        harmless(table(
          ["check", "verdict", "at", "observed", "next"],
          looks.map((one) => [
            ...[one.check, one.verdict, one.subject, one.observed, one.next ?? ""],
          ]),
        ));
      const data = looks.map((one) => ({ ...one }));
      reportData(this, data, text, flags.json, exitOf(looks, flags.requireAll));
    },
  });
}

async function lookAll(
  context: ProgramContext,
  operator: Operator,
  flags: DoctorFlags,
): Promise<readonly Look[]> {
  const machine = [
    await lookAtGit(operator),
    await lookAtProgram(operator),
    await lookAtCompletion(operator),
  ];
  const home = flags.home ?? operator.home;
  if (home === null) {
    const next = "name one with --home or ANVIL_HOME";
    return [
      ...machine,
      ...await lookAtSsh(operator, null),
      unknown("home", "", "no home is named", next),
      ...unasked("no home is named", next),
    ];
  }
  const store = flags.tokens ?? within(home, "tokens");
  const others = [flags.ca, flags.topology].filter((path) => path !== undefined);
  const found = await lookAtHome(operator, {
    ...{ home, store, others, repo: flags.repo ?? null, rev: flags.rev },
  });
  return [
    ...machine,
    ...await lookAtSsh(operator, found.fleet),
    await lookAtDisk(operator, home),
    ...found.looks,
    ...await lookAtNetwork(context, operator, flags, { ...found, home }),
  ];
}

async function lookAtNetwork(
  context: ProgramContext,
  operator: Operator,
  flags: DoctorFlags,
  { home, live, fleet }: Omit<Awaited<ReturnType<typeof lookAtHome>>, "looks"> & {
    readonly home: string;
  },
): Promise<readonly Look[]> {
  if (flags.offline) return offline();
  const ready = await prepareDispatch(operator, flags, { kind: "all" });
  if (ready.kind !== "ready") {
    const why = ready.kind === "refused" ? ready.detail : `${ready.file} is not valid`;
    return unasked(why, "see the checks above");
  }
  const publishers = live === null || fleet === null
    ? [unknown("publisher", "", "no set is live", "see the check `live_set`")]
    : await lookAtPublishers(operator, flags, ready.authorities, { home, live, fleet });
  return [...await lookAtNodes(context, operator, ready, flags), ...publishers];
}
