/** `anvil-operator home diff`. @module */

import { buildCommand } from "@stricli/core";
import type { Refusal } from "../../../lib/core/refusal.ts";
import { type Drift, findDrift } from "../../../lib/home/drift.ts";
import type { ExportedFile } from "../../../lib/home/export_commit.ts";
import { loadReceipt } from "../../../lib/home/generation.ts";
import { made, readHistory } from "../../../lib/home/history.ts";
import { hostFiles } from "../../../lib/home/host_files.ts";
import { readInstalled } from "../../../lib/home/installed.ts";
import { type LiveSet, liveTopology, openHome, readSet } from "../../../lib/home/open_home.ts";
import { homeRefusal } from "../../../lib/home/ports.ts";
import { named } from "../../../lib/home/rollback.ts";
import type { ProgramContext } from "../../../lib/terminal/program.ts";
import { table } from "../../../lib/terminal/table.ts";
import { type Runtime, RUNTIMES } from "../../../lib/topology/vocabulary.ts";
import { HOME_FLAG, hostId, JSON_FLAG } from "../flags.ts";
import { noHome } from "../fleet_source.ts";
import type { Operator } from "../operator.ts";
import { reportData, reportFailure } from "../report.ts";

interface DiffFlags {
  readonly home?: string;
  readonly json: boolean;
  readonly set?: string;
  readonly host?: string;
  readonly runtime: Runtime;
}

/** Compares the live set with an earlier one, or with what a host has installed. */
export function diffCommand(operator: Operator) {
  return buildCommand<DiffFlags, [string?], ProgramContext>({
    parameters: {
      flags: {
        home: HOME_FLAG,
        json: JSON_FLAG,
        set: {
          kind: "parsed",
          parse: String,
          optional: true,
          brief: "An earlier set by its digest (default: the one live before)",
          placeholder: "DIGEST",
        },
        host: {
          kind: "parsed",
          parse: hostId,
          optional: true,
          brief: "With DIR: whose view to compare",
          placeholder: "ID",
        },
        runtime: {
          kind: "enum",
          values: RUNTIMES,
          default: "native",
          brief: "That view's runtime",
        },
      },
      positional: {
        kind: "tuple",
        parameters: [{
          brief: "What a host has installed",
          parse: String,
          optional: true,
          placeholder: "DIR",
        }],
      },
    },
    docs: {
      brief: "Compare the live set with an earlier one, or with what is installed",
      fullDescription:
        "Without DIR: what changed since the set before. With --host and DIR: the drift of what that\n" +
        "host has installed; exits 1 when there is any. Nothing is mended.\n\n" +
        "Examples:\n  anvil-operator home diff\n" +
        "  anvil-operator home diff --host gpu-a /etc/anvil",
    },
    async func(flags, directory) {
      const { home = operator.home ?? undefined, json } = flags;
      if (home === undefined) return reportFailure(this, noHome(), json);
      const live = await openHome(operator.ports, home);
      if (live.kind === "refused") return reportFailure(this, live, json);
      const set = await readSet(operator.ports, home, live.receipt);
      if ("kind" in set) return reportFailure(this, set, json);
      const drift = directory === undefined
        ? await sinceBefore(operator, home, live, set, flags.set)
        : await installedDrift(operator, home, live, set, directory, flags);
      if ("kind" in drift) return reportFailure(this, drift, json);
      const different = drift.filter(({ state }) => state !== "identical");
      const text = () =>
        different.length === 0 ? `${drift.length} files: identical\n` : table(
          ["file", "state", "keys"],
          different.map(({ path, state, keys }) => [path, state, keys.join(" ")]),
        );
      const data = drift.map((one) => ({ ...one, keys: [...one.keys] }));
      reportData(this, data, text, json, directory !== undefined && different.length > 0 ? 1 : 0);
    },
  });
}

async function sinceBefore(
  { ports }: Operator,
  home: string,
  live: LiveSet,
  set: readonly ExportedFile[],
  prefix: string | undefined,
): Promise<readonly Drift[] | Refusal> {
  const history = await readHistory(ports, home);
  if ("kind" in history) return history;
  const digest = prefix === undefined
    ? made(history, live.current).find((one) => one.digest !== live.current.digest)?.digest
    : named(history, prefix);
  if (digest === undefined) {
    return homeRefusal("generation_unknown", "there is no such set to compare with", {
      nextStep: "see `home history`",
    });
  }
  const receipt = await loadReceipt(ports, home, digest);
  if ("kind" in receipt) return receipt;
  const before = await readSet(ports, home, receipt);
  if ("kind" in before) return before;
  // What the earlier set has and the live one does not is `missing`, seen from the earlier one.
  return findDrift(before, new Map(set.map(({ path, bytes }) => [path, bytes])));
}

async function installedDrift(
  { ports }: Operator,
  home: string,
  live: LiveSet,
  set: readonly ExportedFile[],
  directory: string,
  { host, runtime }: DiffFlags,
): Promise<readonly Drift[] | Refusal> {
  const topology = await liveTopology(ports, home, live);
  if ("kind" in topology) return topology;
  const [only = "", second] = Object.keys(topology.fleet.hosts);
  if (host === undefined && second !== undefined) {
    return homeRefusal("path_unknown", "whose files these should be is not said", {
      nextStep: "name the host with --host",
    });
  }
  const expected = hostFiles(set, topology.fleet, host ?? only, runtime);
  if (expected.kind === "refused") return expected;
  const installed = await readInstalled(ports, directory);
  return "kind" in installed ? installed as Refusal : findDrift(expected.files, installed);
}
