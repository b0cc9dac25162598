/** `anvil-operator fleet ...`. @module */

import { buildCommand, buildRouteMap } from "@stricli/core";
import type { Json } from "../../../lib/core/canonical_json.ts";
import type { Outcome } from "../../../lib/dispatch/outcome.ts";
import type { CallAsk, Looked } from "../../../lib/dispatch/visit.ts";
import type { ProgramContext } from "../../../lib/terminal/program.ts";
import { table } from "../../../lib/terminal/table.ts";
import type { Target } from "../../../lib/topology/resolve.ts";
import {
  adoptionData,
  adoptionOf,
  type AdoptionSeen,
  CANDIDATES_STATUS,
} from "../adoption_seen.ts";
import { type Dispatched, prepareDispatch } from "../dispatch.ts";
import { DISPATCH_FLAGS, type DispatchFlags, targetFlag } from "../dispatch_flags.ts";
import {
  NOT_ASKED,
  ONLY,
  type Only,
  paintOf,
  pickRows,
  type Sort,
  SORTS,
  summaryText,
} from "../fleet_pick.ts";
import {
  type FleetRow,
  fleetRows,
  newestVersion,
  statusCells,
  theirNow,
  versionCells,
} from "../fleet_table.ts";
import type { Operator } from "../operator.ts";
import { driftCommand } from "./fleet_drift.ts";
import { reportCommand } from "./fleet_report.ts";
import { runLooks } from "../look.ts";
import { readAsk } from "../one_host.ts";
import { type Also, reportOutcomes } from "../outcome_report.ts";
import { reportFailure } from "../report.ts";
import { WATCH_FLAG, watched } from "../watch.ts";
import { readSeen, type Seen, sightingOf, withAdoption, writeSeen } from "../seen.ts";

const IDENTITY = "node.identity";

/** The commands on the whole fleet. */
export function fleetRoutes(operator: Operator) {
  return buildRouteMap({
    routes: {
      status: fleetCommand(operator, STATUS),
      versions: fleetCommand(operator, VERSIONS),
      drift: driftCommand(operator),
      report: reportCommand(operator),
    },
    docs: { brief: "Look at every host at once" },
  });
}

/** `fleet status`. */
const STATUS: View = {
  brief: "Say how every host is, and how old what is known is",
  more: "A host that does not answer keeps the row it had when it was last seen, with its age.\n" +
    "TOPOLOGY compares the fingerprint the agent was set up from with the one read here.\n" +
    "ADOPTION is how fresh the host's software is: fresh, aging, stale, or unknown, which is\n" +
    "not no. KNOWN GOOD is the revision proven last, BOOT whether one is pending, REFUSED what\n" +
    "was refused or failed last. What a host said before is marked `was`. Ages are by the clock of\n" +
    "the host; CLOCK says how far that is from ours.",
  name: "status",
  asks: [readAsk(IDENTITY, {}), readAsk(CANDIDATES_STATUS, {})],
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
};

/** `fleet versions`. */
const VERSIONS: View = {
  brief: "Say which software runs on every host, and who is behind",
  more:
    "The newest version that any host runs is the measure; a host that was not seen is unknown.",
  name: "versions",
  asks: [],
  headings: ["host", "outcome", "seen", "version", "build", "verdict", "catalogue", "why"],
  cells: versionCells,
  adoption: false,
};

interface View {
  readonly brief: string;
  readonly more: string;
  readonly name: string;
  /** Asked of every host over one connection; the first one's end is the host's. */
  readonly asks: readonly CallAsk[];
  readonly headings: readonly string[];
  readonly cells: (row: FleetRow, newest: string | null, now: number) => readonly string[];
  /** Whether hosts are asked for their adoption as well. */
  readonly adoption: boolean;
}

interface FleetViewFlags extends DispatchFlags {
  readonly target: Target;
  readonly sort: Sort;
  readonly only?: readonly Only[];
  readonly watch?: number;
}

function fleetCommand(operator: Operator, view: View) {
  return buildCommand<FleetViewFlags, [], ProgramContext>({
    parameters: {
      flags: {
        ...DISPATCH_FLAGS,
        target: { ...targetFlag(operator), default: "all" },
        sort: { kind: "enum", values: SORTS, default: "host", brief: "In which order" },
        only: {
          kind: "enum",
          values: ONLY,
          variadic: ",",
          optional: true,
          brief: "Show only hosts of which all of these are true",
        },
        watch: WATCH_FLAG,
      },
    },
    docs: {
      brief: view.brief,
      fullDescription:
        `${view.more}\n\nA host that does not answer is red on a terminal, what is old or doubtful ` +
        `yellow. --only\nand --sort choose and order rows; every host is asked all the same.\n\n` +
        `Exit 0 when every host has an outcome and one at least is ` +
        `done.\n\nExamples:\n  anvil-operator fleet ${view.name} --sort problems\n` +
        `  anvil-operator fleet ${view.name} --only problems --watch 10\n` +
        `  anvil-operator fleet ${view.name} --require-all --json`,
    },
    func(flags) {
      const { watch: every, json } = flags;
      return watched(this, operator, { every, json }, () => lookOnce(this, operator, view, flags));
    },
  });
}

/** Asks every host how it is, once. */
export function lookAtStatus(
  context: ProgramContext,
  operator: Operator,
  flags: DispatchFlags & { readonly target: Target },
  also: Also,
): Promise<void> {
  return lookOnce(context, operator, STATUS, { ...flags, sort: "problems" }, also);
}

async function lookOnce(
  context: ProgramContext,
  operator: Operator,
  view: View,
  flags: FleetViewFlags,
  also: Also = () => {},
): Promise<void> {
  const ready = await prepareDispatch(operator, flags, flags.target);
  if (ready.kind !== "ready") return reportFailure(context, ready, flags.json);
  const { dispatched, kept } = await runLooks(context, operator, ready, flags, {
    asksOf: () => view.asks,
    outcomeOf: ({ proof, answers }) => {
      const first = answers.get(view.asks[0]?.name ?? "");
      return first === undefined ? proof : { ...first, tookMs: proof.tookMs };
    },
    keep: (_host, looked): AdoptionSeen | null => view.adoption ? adoptionIn(looked) : NOT_ASKED,
  });
  const adoptions = new Map([...kept].flatMap(([host, one]) => one === null ? [] : [[host, one]]));
  const { seen, remark } = await remember(operator, flags, dispatched, adoptions);
  if (remark !== null) context.terminal.err(`${remark}\n`);
  reportOutcomes(context, dispatched, {
    ...flags,
    also,
    show: () => "",
    whole: () => {
      const now = operator.ports.clock.now();
      const rows = fleetRows(dispatched, seen, adoptions, now);
      return whole(view, rows, now, flags, context.terminal.color);
    },
  });
}

/** What a host that was proven says of its adoption; null for one that was not. */
function adoptionIn(looked: Looked | null): AdoptionSeen | null {
  if (looked?.proof.kind !== "done") return null;
  const outcome: Outcome | undefined = looked.answers.get(CANDIDATES_STATUS);
  return outcome?.code === "operation_absent"
    ? { kind: "no_adopter" }
    : adoptionOf(outcome ?? null);
}

function whole(
  view: View,
  all: readonly FleetRow[],
  now: number,
  { sort, only = [] }: Pick<FleetViewFlags, "sort" | "only">,
  color: boolean,
): { text: string; data: Json } {
  const newest = newestVersion(all);
  const rows = pickRows(all, { sort, only }, newest);
  const cells = rows.map((row) => view.cells(row, newest, now));
  const paints = color ? rows.map((row) => paintOf(row, newest)) : [];
  return {
    text: `${table(view.headings, cells, paints)}\n${summaryText(all, rows.length)}`,
    data: rows.map(({ ageMs, skewMs, adoption, adoptionBefore, ...row }) => ({
      ...row,
      ...(view.adoption
        ? { adoption: adoptionData(adoption, adoptionBefore, theirNow(now, skewMs)) }
        : {}),
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
