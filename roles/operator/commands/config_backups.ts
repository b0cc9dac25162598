/** `anvil-operator config backups`. @module */

import { buildCommand } from "@stricli/core";
import type { Outcome } from "../../../lib/dispatch/outcome.ts";
import { objectOf } from "../../../lib/dispatch/reply.ts";
import type { ProgramContext } from "../../../lib/terminal/program.ts";
import { table } from "../../../lib/terminal/table.ts";
import { DISPATCH_FLAGS, targetFlag } from "../dispatch_flags.ts";
import { LIVE_KINDS } from "../live_file.ts";
import { lookAtOne, type TargetFlags } from "../one_host.ts";
import type { Operator } from "../operator.ts";
import { cellTold, harmless, objectsTold } from "../told.ts";

/** Files that are replaced from afar, and copied aside first. */
const FILES = ["router.toml", "serves.toml", "topology.toml"];

/** Lists the dated copies of one file of a host. */
export function backupsCommand(operator: Operator) {
  return buildCommand<TargetFlags, [string], ProgramContext>({
    parameters: {
      flags: { ...DISPATCH_FLAGS, target: targetFlag(operator) },
      positional: {
        kind: "tuple",
        parameters: [{ brief: FILES.join(", "), parse: fileOf, placeholder: "FILE" }],
      },
    },
    docs: {
      brief: "List the dated copies of a file that was replaced on a host",
      fullDescription:
        "Newest first, by name and digest; no content leaves the host. Each is in the agent's state\n" +
        "folder, as backups/FILE/NAME/FILE; 32 of each file are kept. The copy that stands there now\n" +
        "is marked, and so is one that is damaged.\n\nExamples:\n" +
        "  anvil-operator config backups router.toml --target host:gpu-a\n" +
        "  anvil-operator config backups serves.toml --target host:gpu-a --json",
    },
    func(flags, file) {
      return lookAtOne(this, operator, flags, {
        name: "config.backups",
        input: { kind: LIVE_KINDS[file] ?? "" },
        show: (outcome) => backupsText(outcome, file),
      });
    },
  });
}

function backupsText({ result, host }: Outcome, file: string): string {
  const backups = objectsTold(objectOf(result) ?? {}, "backups");
  if (backups.length === 0) return harmless(`${host} keeps no copy of ${file}\n`);
  return harmless(table(
    ["at", "sha256", "bytes", "name", "note"],
    backups.map((one) => [
      cellTold(one, "at"),
      cellTold(one, "sha256").slice(0, 12),
      cellTold(one, "size"),
      cellTold(one, "name"),
      cellTold(one, "code", one["standing"] === true ? "stands there now" : ""),
    ]),
  ));
}

function fileOf(text: string): string {
  if (!FILES.includes(text)) throw new SyntaxError(`expected ${FILES.join(", ")}`);
  return text;
}
