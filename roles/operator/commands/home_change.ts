/** `anvil-operator home materialize|rollback`. @module */

import { buildCommand } from "@stricli/core";
import { materialize } from "../../../lib/home/materialize.ts";
import { rollback } from "../../../lib/home/rollback.ts";
import type { ProgramContext } from "../../../lib/terminal/program.ts";
import { BY_FLAG, HOME_FLAG, JSON_FLAG } from "../flags.ts";
import { noHome } from "../fleet_source.ts";
import { fingerprintOf, type Operator } from "../operator.ts";
import { reportData, reportFailure } from "../report.ts";

interface MaterializeFlags {
  readonly repo: string;
  readonly rev: string;
  readonly path?: string;
  readonly home?: string;
  readonly by?: string;
  readonly json: boolean;
}

/** Makes a reviewed commit the live set. */
export function materializeCommand(operator: Operator) {
  return buildCommand<MaterializeFlags, [], ProgramContext>({
    parameters: {
      flags: {
        repo: {
          kind: "parsed",
          parse: String,
          brief: "A clean or bare clone",
          placeholder: "REPO",
        },
        rev: { kind: "parsed", parse: String, brief: "The reviewed commit", placeholder: "COMMIT" },
        path: {
          kind: "parsed",
          parse: String,
          optional: true,
          brief: "The directory of the fleet in it (default: all of it)",
          placeholder: "DIR",
        },
        home: HOME_FLAG,
        by: BY_FLAG,
        json: JSON_FLAG,
      },
    },
    docs: {
      brief: "Make a reviewed commit the live set",
      fullDescription:
        "Exports the commit from git's objects, never from a working tree, checks every file, writes an\n" +
        "immutable generation with a receipt, and switches `current` in one rename. Interrupted\n" +
        "anywhere, what was live stays live. The set: topology.toml at its root, hosts/<id>/ for the\n" +
        "files of each host (beside the topology in a fleet of one).\n\n" +
        "Example:\n  anvil-operator home materialize --repo ~/fleet --rev 0f1e2d3c",
    },
    async func({ repo, rev, path = "", home = operator.home ?? undefined, by, json }) {
      if (home === undefined) return reportFailure(this, noHome(), json);
      const ask = { repo, rev, path: path.replace(/\/+$/, ""), by: by ?? operator.by };
      const outcome = await materialize(operator.ports, home, ask);
      if (outcome.kind !== "materialized") return reportFailure(this, outcome, json);
      const { receipt, switched, fleet } = outcome;
      const data = {
        ...{
          digest: receipt.digest,
          commit: receipt.commit,
          switched,
          files: receipt.files.length,
        },
        ...{
          at: receipt.at,
          by: receipt.by,
          fleet: fleet.fleet,
          fingerprint: fingerprintOf(fleet),
        },
      };
      const text = () =>
        `${switched ? "live now" : "live already"}: generation ${receipt.digest.slice(0, 12)}, ` +
        `${receipt.files.length} files of commit ${receipt.commit.slice(0, 12)}\n`;
      reportData(this, data, text, json);
    },
  });
}

/** Makes an earlier set live again. */
export function rollbackCommand(operator: Operator) {
  return buildCommand<
    { to?: string; home?: string; by?: string; json: boolean },
    [],
    ProgramContext
  >({
    parameters: {
      flags: {
        to: {
          kind: "parsed",
          parse: String,
          optional: true,
          brief: "A digest of the history, or its first letters (default: the set live before)",
          placeholder: "DIGEST",
        },
        home: HOME_FLAG,
        by: BY_FLAG,
        json: JSON_FLAG,
      },
    },
    docs: {
      brief: "Make an earlier set live again, the whole of it",
      fullDescription:
        "Compares the earlier set with its receipt, byte for byte, then switches to it. A second\n" +
        "rollback without --to goes forth again.\n\n" +
        "Examples:\n  anvil-operator home rollback\n  anvil-operator home rollback --to 4f3c2b1a",
    },
    async func({ to, home = operator.home ?? undefined, by, json }) {
      if (home === undefined) return reportFailure(this, noHome(), json);
      const ask = { by: by ?? operator.by, ...(to === undefined ? {} : { to }) };
      const outcome = await rollback(operator.ports, home, ask);
      if (outcome.kind === "refused") return reportFailure(this, outcome, json);
      const { from, current } = outcome;
      const data = { digest: current.digest, commit: current.commit, from, at: current.at };
      const text = () =>
        `live now: generation ${current.digest.slice(0, 12)}, commit ${
          current.commit.slice(0, 12)
        }\n`;
      reportData(this, data, text, json);
    },
  });
}
