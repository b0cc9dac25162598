/**
 * The fleet as rows: what was seen now, or when it was seen last.
 *
 * @module
 */

import type { Json } from "../../lib/core/canonical_json.ts";
import { objectOf } from "../../lib/dispatch/reply.ts";
import {
  type Adoption,
  adoptionCells,
  type AdoptionSeen,
  CANDIDATES_STATUS,
} from "./adoption_seen.ts";
import { ageText } from "./age.ts";
import { skewText } from "./commands/node.ts";
import type { Dispatched } from "./dispatch.ts";
import type { Seen } from "./seen.ts";
import { short } from "./told.ts";

/** One host. */
export type FleetRow = {
  readonly host: string;
  /** How this look ended; null when it has no outcome. */
  readonly outcome: string | null;
  readonly code: string | null;
  readonly detail: string;
  /** When what follows was seen; null when the host was never seen. */
  readonly seen_at: string | null;
  readonly ageMs: number | null;
  readonly version: string | null;
  readonly build_digest: string | null;
  readonly started_at: string | null;
  readonly up_ms: number | null;
  /** Only of this look. */
  readonly skewMs: number | null;
  readonly running: number | null;
  readonly catalogue_digest: string | null;
  /** What the agent was set up from, beside the topology read here. */
  readonly topology: "same" | "differs" | "none" | "unknown";
  /** The topology declares how the host takes up software: it should have an adopter. */
  readonly adopts: boolean;
  /** Of this look. */
  readonly adoption: AdoptionSeen;
  /** What the host said of its adoption before; null when it never did. */
  readonly adoptionBefore: Adoption | null;
};

/** A row per host of the plan. `adoptions`: of the hosts that were asked for it. */
export function fleetRows(
  { plan, outcomes, index }: Dispatched,
  seen: Seen,
  adoptions: ReadonlyMap<string, AdoptionSeen>,
  now: number,
): FleetRow[] {
  const byHost = new Map(outcomes.map((one) => [one.host, one]));
  return plan.hosts.map(({ host }) => {
    const outcome = byHost.get(host);
    const sighting = seen.get(host);
    const health = outcome?.health ?? null;
    const running = objectOf(health?.["ledger"])?.["running"];
    const started = sighting === undefined ? NaN : Date.parse(sighting.started_at);
    const catalogue = health?.["catalogue_digest"];
    return {
      host,
      outcome: outcome?.kind ?? null,
      code: outcome === undefined ? "interrupted" : outcome.code,
      detail: outcome?.detail ?? "the command was ended before",
      seen_at: sighting?.at ?? null,
      ageMs: sighting === undefined
        ? null
        : health !== null
        ? 0
        : Math.max(0, now - Date.parse(sighting.at)),
      version: sighting?.version ?? null,
      build_digest: sighting?.build_digest ?? null,
      started_at: sighting?.started_at ?? null,
      up_ms: health === null || Number.isNaN(started)
        ? null
        : theirNow(now, outcome?.skewMs ?? null) - started,
      skewMs: outcome?.skewMs ?? null,
      running: typeof running === "number" ? running : null,
      catalogue_digest: typeof catalogue === "string" ? catalogue : null,
      topology: topologyOf(objectOf(outcome?.result)?.["topology"], plan.fingerprint),
      adopts: (index.hosts.get(host)?.adoption?.policy ?? "none") !== "none",
      adoption: adoptions.get(host) ??
        {
          kind: "unknown",
          code: outcome?.code ?? "interrupted",
          detail: outcome?.detail ?? "the command was ended before",
        },
      adoptionBefore: sighting?.adoption ?? null,
    };
  });
}

/** What the clock of a host says now: its own times are held against that, not against ours. */
export function theirNow(now: number, skewMs: number | null): number {
  return skewMs === null || Math.abs(skewMs) < 2000 ? now : now + skewMs;
}

function topologyOf(value: Json | undefined, fingerprint: string): FleetRow["topology"] {
  if (value === undefined) return "unknown";
  return value === null ? "none" : value === fingerprint ? "same" : "differs";
}

/** The newest version that any host was seen with; null when none was seen, or none is a version. */
export function newestVersion(rows: readonly FleetRow[]): string | null {
  const versions = rows.flatMap(({ version }) => version === null ? [] : [version]);
  return versions.reduce<string | null>(
    (newest, one) => newest === null || compareVersions(one, newest) > 0 ? one : newest,
    null,
  );
}

/** By the numbers in them, then a release before its own pre-release; 0 for the same. */
export function compareVersions(left: string, right: string): number {
  const [a = "", preA = ""] = left.split("-", 2);
  const [b = "", preB = ""] = right.split("-", 2);
  const numbers = (text: string) => text.split(".").map((part) => Number.parseInt(part, 10) || 0);
  const [x, y] = [numbers(a), numbers(b)];
  for (let at = 0; at < Math.max(x.length, y.length); at++) {
    const difference = (x[at] ?? 0) - (y[at] ?? 0);
    if (difference !== 0) return Math.sign(difference);
  }
  if (preA === preB) return 0;
  if (preA === "" || preB === "") return preA === "" ? 1 : -1;
  return preA < preB ? -1 : 1;
}

/** `fleet status`. */
export function statusCells(
  row: FleetRow,
  _newest: string | null,
  now: number,
): readonly string[] {
  return [
    ...first(row),
    row.version ?? "unknown",
    row.up_ms === null ? "-" : ageText(row.up_ms),
    row.skewMs === null ? "-" : skewText(row.skewMs),
    row.running === null ? "-" : `${row.running}`,
    row.topology,
    ...adoptionCells(row.adoption, row.adoptionBefore, theirNow(now, row.skewMs)),
    adoptionWhy(row) ?? why(row),
  ];
}

const NO_ADOPTER = {
  code: "adopter_absent",
  detail: "the topology declares adoption, and its agent knows no adopter",
} as const;

/** A host that answers may still not tell of its adoption, or have no adopter where one is due. */
function adoptionWhy({ code, adoption, adopts }: FleetRow): string | null {
  if (code !== null) return null;
  if (adoption.kind === "unknown") {
    return short(`${CANDIDATES_STATUS}: ${adoption.code}: ${adoption.detail}`);
  }
  return adoption.kind === "no_adopter" && adopts
    ? `${NO_ADOPTER.code}: ${NO_ADOPTER.detail}`
    : null;
}

/** `fleet versions`. */
export function versionCells(row: FleetRow, newest: string | null): readonly string[] {
  return [
    ...first(row),
    row.version ?? "unknown",
    row.version === null ? "unknown" : row.build_digest?.slice(0, 12) ?? "from source",
    row.version === null ? "unknown" : row.version === newest ? "newest" : `behind ${newest}`,
    row.catalogue_digest?.slice(0, 12) ?? "-",
    why(row),
  ];
}

function first({ host, outcome, ageMs }: FleetRow): readonly string[] {
  const seen = ageMs === null ? "never" : ageMs === 0 ? "now" : `${ageText(ageMs)} ago`;
  return [host, outcome ?? "none", seen];
}

function why({ code, detail }: FleetRow): string {
  return code === null ? "" : short(`${code}: ${detail}`);
}
