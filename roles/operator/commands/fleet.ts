/** `anvil-operator fleet ...`. @module */

import { buildCommand, buildRouteMap } from "@stricli/core";
import type { Json } from "../../../lib/core/canonical_json.ts";
import type { Ask } from "../../../lib/dispatch/ask.ts";
import { CatalogueShelf } from "../../../lib/dispatch/catalogue_shelf.ts";
import { MOST_AT_ONCE } from "../../../lib/dispatch/fan_out.ts";
import type { Outcome } from "../../../lib/dispatch/outcome.ts";
import type { PlannedHost } from "../../../lib/dispatch/plan.ts";
import type { ProgramContext } from "../../../lib/terminal/program.ts";
import { table } from "../../../lib/terminal/table.ts";
import type { Target } from "../../../lib/topology/resolve.ts";
import {
  ADOPTION_ASK,
  adoptionData,
  adoptionOf,
  type AdoptionSeen,
  CANDIDATES_STATUS,
} from "../adoption_seen.ts";
import { type Dispatched, prepareDispatch, type Ready, runVisits, visitorOf } from "../dispatch.ts";
import { DISPATCH_FLAGS, type DispatchFlags, targetFlag } from "../dispatch_flags.ts";
import {
  type FleetRow,
  fleetRows,
  newestVersion,
  statusCells,
  versionCells,
} from "../fleet_table.ts";
import type { Operator } from "../operator.ts";
import { driftCommand } from "./fleet_drift.ts";
import { reportOutcomes } from "../outcome_report.ts";
import { reportFailure } from "../report.ts";
import { readSeen, type Seen, sightingOf, withAdoption, writeSeen } from "../seen.ts";

/** The commands on the whole fleet. */
export function fleetRoutes(operator: Operator) {
  return buildRouteMap({
    routes: {
      status: fleetCommand(operator, {
        brief: "Say how every host is, and how old what is known is",
        more:
          "A host that does not answer keeps the row it had when it was last seen, with its age.\n" +
          "TOPOLOGY compares the fingerprint the agent was set up from with the one read here.\n" +
          "ADOPTION is how fresh the host's software is: fresh, aging, stale, or unknown, which is\n" +
          "not no. KNOWN GOOD is the revision proven last, BOOT whether one is pending, REFUSED what\n" +
          "was refused or failed last. What a host said before is marked `was`.",
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
          "adoption",
          "known good",
          "boot",
          "refused",
          "why",
        ],
        cells: statusCells,
        adoption: true,
      }),
      versions: fleetCommand(operator, {
        brief: "Say which software runs on every host, and who is behind",
        more:
          "The newest version that any host runs is the measure; a host that was not seen is unknown.",
        name: "versions",
        ask: { kind: "health" },
        headings: ["host", "outcome", "seen", "version", "build", "verdict", "catalogue", "why"],
        cells: versionCells,
        adoption: false,
      }),
      drift: driftCommand(operator),
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
  readonly cells: (row: FleetRow, newest: string | null, now: number) => readonly string[];
  /** Whether hosts with an adopter are asked for its status as well. */
  readonly adoption: boolean;
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
      const adoptions = new Map<string, AdoptionSeen>();
      const dispatched = await runVisits(
        this,
        operator,
        ready,
        { json: flags.json, atOnce: MOST_AT_ONCE },
        visitsOf(operator, ready, flags, view, adoptions),
      );
      const { seen, remark } = await remember(operator, flags, dispatched, adoptions);
      if (remark !== null) this.terminal.err(`${remark}\n`);
      reportOutcomes(this, dispatched, {
        ...flags,
        show: () => "",
        whole: () => {
          const now = operator.ports.clock.now();
          return whole(view, fleetRows(dispatched, seen, adoptions, now), now);
        },
      });
    },
  });
}

/** Asks a host for the view; then, where its catalogue has it, for the status of its adoption. */
function visitsOf(
  operator: Operator,
  ready: Ready,
  flags: DispatchFlags,
  view: View,
  adoptions: Map<string, AdoptionSeen>,
): (host: PlannedHost, signal: AbortSignal) => Promise<Outcome | null> {
  const shelf = new CatalogueShelf(operator.ports.sha256);
  const visitor = visitorOf(operator, ready, flags, () => {}, shelf);
  return async (host, signal) => {
    const outcome = await visitor(host, view.ask, signal);
    if (!view.adoption || outcome?.kind !== "done") return outcome;
    const has = await shelf.has(outcome.health?.["catalogue_digest"], CANDIDATES_STATUS);
    if (has === true) {
      adoptions.set(host.host, adoptionOf(await visitor(host, ADOPTION_ASK, signal)));
    } else {
      adoptions.set(
        host.host,
        has === false ? { kind: "no_adopter" } : {
          kind: "unknown",
          code: "catalogue_unknown",
          detail: "what operations the host has could not be read",
        },
      );
    }
    return outcome;
  };
}

function whole(
  view: View,
  rows: readonly FleetRow[],
  now: number,
): { text: string; data: Json } {
  const newest = newestVersion(rows);
  return {
    text: table(view.headings, rows.map((row) => view.cells(row, newest, now))),
    data: rows.map(({ ageMs, skewMs, adoption, adoptionBefore, ...row }) => ({
      ...row,
      ...(view.adoption ? { adoption: adoptionData(adoption, adoptionBefore, now) } : {}),
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
  adoptions: ReadonlyMap<string, AdoptionSeen>,
): Promise<{ readonly seen: Seen; readonly remark: string | null }> {
  const now = ports.clock.now();
  const fresh = outcomes.flatMap((outcome) => {
    const sighting = sightingOf(outcome, now);
    return sighting === null ? [] : [[outcome.host, sighting] as const];
  });
  const there = home !== undefined && (await ports.directories.list(home, 10_000)).kind === "ok";
  const before = there && home !== undefined ? await readSeen(ports.files, home) : new Map();
  const old: Seen = before instanceof Map ? before : new Map();
  const told = fresh.map(([host, sighting]) => {
    const now = adoptions.get(host);
    const adoption = now?.kind === "known" ? now.adoption : null;
    return [host, withAdoption(sighting, adoption, old.get(host))] as const;
  });
  const seen: Seen = new Map([...old, ...told]);
  if (!there || home === undefined) return { seen, remark: null };
  const kept = fresh.length === 0 ? null : await writeSeen(ports.files, home, seen);
  const trouble = "kind" in before ? before : kept;
  return { seen, remark: trouble === null ? null : `${trouble.code}: ${trouble.detail}` };
}
