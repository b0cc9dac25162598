/** `anvil-operator topology validate FILE...`. @module */

import { buildCommand } from "@stricli/core";
import type { FileProblem } from "../../../lib/home/ports.ts";
import type { ProgramContext } from "../../../lib/terminal/program.ts";
import { table } from "../../../lib/terminal/table.ts";
import { JSON_FLAG } from "../flags.ts";
import { fleetFile, servesBeside } from "../fleet_source.ts";
import { fingerprintOf, type Operator } from "../operator.ts";
import { reportData, reportFiles } from "../report.ts";

type FileRow = {
  readonly file: string;
  readonly ok: boolean;
  readonly fleet: string | null;
  readonly hosts: number | null;
  readonly fingerprint: string | null;
};

/** Checks topologies and the serves files beside them. */
export function validateCommand({ ports }: Operator) {
  return buildCommand<{ json: boolean }, string[], ProgramContext>({
    parameters: {
      flags: { json: JSON_FLAG },
      positional: {
        kind: "array",
        minimum: 1,
        parameter: { brief: "A topology.toml", parse: String, placeholder: "FILE" },
      },
    },
    docs: {
      brief: "Check topologies and print every problem",
      fullDescription:
        "Reads each FILE, and hosts/<id>/serves.toml beside it (serves.toml in a fleet of one).\n" +
        "Prints every problem with file, line, column, TOML path and code. Exits 2 when there is any.\n\n" +
        "Examples:\n  anvil-operator topology validate topology.toml\n" +
        "  anvil-operator topology validate --json fleet/examples/*/topology.toml",
    },
    async func({ json }, ...files) {
      const problems: FileProblem[] = [];
      const rows: FileRow[] = [];
      for (const file of files) {
        const read = await fleetFile(ports.files, file);
        const wrong = read.kind === "fleet" ? await servesBeside(ports, read) : [read];
        for (const one of wrong) {
          problems.push(...one.problems.map((problem) => ({ ...problem, file: one.file })));
        }
        rows.push({
          file,
          ok: wrong.length === 0,
          fleet: read.kind === "fleet" ? read.fleet.fleet : null,
          hosts: read.kind === "fleet" ? Object.keys(read.fleet.hosts).length : null,
          fingerprint: read.kind === "fleet" ? fingerprintOf(read.fleet) : null,
        });
      }
      if (problems.length > 0) return reportFiles(this, problems, rows, json);
      const text = () =>
        table(
          ["file", "fleet", "hosts", "fingerprint"],
          rows.map((row) => [
            row.file,
            row.fleet ?? "",
            `${row.hosts}`,
            row.fingerprint?.slice(0, 16) ?? "",
          ]),
        );
      reportData(this, rows, text, json);
    },
  });
}
