/** `anvil-operator fleet ...`. @module */

import { buildCommand, buildRouteMap } from "@stricli/core";
import type { Json } from "../../../lib/core/canonical_json.ts";
import type { Ask } from "../../../lib/dispatch/ask.ts";
import type { ProgramContext } from "../../../lib/terminal/program.ts";
import { table } from "../../../lib/terminal/table.ts";
import type { Target } from "../../../lib/topology/resolve.ts";
import { type Dispatched, prepareDispatch, runDispatch } from "../dispatch.ts";
import { DISPATCH_FLAGS, type DispatchFlags, targetFlag } from "../dispatch_flags.ts";
import {
  type FleetRow,
  fleetRows,
  newestVersion,
  statusCells,
  versionCells,
} from "../fleet_table.ts";
import type { Operator } from "../operator.ts";
import { reportOutcomes } from "../outcome_report.ts";
import { reportFailure } from "../report.ts";
import { readSeen, type Seen, sightingOf, writeSeen } from "../seen.ts";

/** The commands on the whole fleet. */
export function fleetRoutes(operator: Operator) {
  return buildRouteMap({
    routes: {
      status: fleetCommand(operator, {
        brief: "Say how every host is, and how old what is known is",
        more:
          "A host that does not answer keeps the row it had when it was last seen, with its age.\n" +
          "TOPOLOGY compares the fingerprint the agent was set up from with the one read here.",
        name: "status",
        ask: {
          ...{ kind: "call", name: "node.identity", input: {}, dryRun: false, confirm: false },
          key: "identity-is-a-read",
        },
        headings: [
          "host",
          "outcome",
          "seen",
          "version",
          "up",
          "clock",
          "running",
          "topology",
          "why",
        ],
        cells: statusCells,
      }),
      versions: fleetCommand(operator, {
        brief: "Say which software runs on every host, and who is behind",
        more:
          "The newest version that any host runs is the measure; a host that was not seen is unknown.",
        name: "versions",
        ask: { kind: "health" },
        headings: ["host", "outcome", "seen", "version", "build", "verdict", "catalogue", "why"],
        cells: versionCells,
      }),
    },
    docs: { brief: "Look at every host at once" },
  });
}

interface View {
  readonly brief: string;
  readonly more: string;
  readonly name: string;
  readonly ask: Ask;
  readonly headings: readonly string[];
  readonly cells: (row: FleetRow, newest: string | null) => readonly string[];
}

function fleetCommand(operator: Operator, view: View) {
  return buildCommand<DispatchFlags & { readonly target: Target }, [], ProgramContext>({
    parameters: {
      flags: { ...DISPATCH_FLAGS, target: { ...targetFlag(operator), default: "all" } },
    },
    docs: {
      brief: view.brief,
      fullDescription:
        `${view.more}\n\nExit 0 when every host has an outcome and one at least is ` +
        `done.\n\nExamples:\n  anvil-operator fleet ${view.name}\n` +
        `  anvil-operator fleet ${view.name} --require-all --json`,
    },
    async func(flags) {
      const ready = await prepareDispatch(operator, flags, flags.target);
      if (ready.kind !== "ready") return reportFailure(this, ready, flags.json);
      const dispatched = await runDispatch(this, operator, ready, flags, view.ask);
      const { seen, remark } = await remember(operator, flags, dispatched);
      if (remark !== null) this.terminal.err(`${remark}\n`);
      reportOutcomes(this, dispatched, {
        ...flags,
        show: () => "",
        whole: () => whole(view, fleetRows(dispatched, seen, operator.ports.clock.now())),
      });
    },
  });
}

function whole(view: View, rows: readonly FleetRow[]): { text: string; data: Json } {
  const newest = newestVersion(rows);
  return {
    text: table(view.headings, rows.map((row) => view.cells(row, newest))),
    data: rows.map(({ ageMs, skewMs, ...row }) => ({
      ...row,
      age_ms: ageMs,
      skew_ms: skewMs,
      behind: row.version === null || newest === null ? null : row.version !== newest,
    })),
  };
}

/** Joins what was seen before with what was seen now, and keeps it where there is a home. */
async function remember(
  { home: fallback, ports }: Operator,
  { home = fallback ?? undefined }: DispatchFlags,
  { outcomes }: Dispatched,
): Promise<{ readonly seen: Seen; readonly remark: string | null }> {
  const now = ports.clock.now();
  const fresh = outcomes.flatMap((outcome) => {
    const sighting = sightingOf(outcome, now);
    return sighting === null ? [] : [[outcome.host, sighting] as const];
  });
  const there = home !== undefined && (await ports.directories.list(home, 10_000)).kind === "ok";
  if (!there) return { seen: new Map(fresh), remark: null };
  const before = await readSeen(ports.files, home);
  const old: Seen = before instanceof Map ? before : new Map();
  const seen: Seen = new Map([...old, ...fresh]);
  const kept = fresh.length === 0 ? null : await writeSeen(ports.files, home, seen);
  const trouble = "kind" in before ? before : kept;
  return { seen, remark: trouble === null ? null : `${trouble.code}: ${trouble.detail}` };
}
