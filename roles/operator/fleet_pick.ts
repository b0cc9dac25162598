/**
 * Which rows of the fleet are shown, in which order, and what they say together.
 *
 * @module
 */

import { OUTCOMES } from "../../lib/dispatch/outcome.ts";
import type { Paint } from "../../lib/terminal/table.ts";
import { skewText } from "./commands/node.ts";
import { compareVersions, type FleetRow } from "./fleet_table.ts";

/** Orders. `problems`: what needs a person first. */
export const SORTS = ["host", "problems", "seen", "version", "adoption"] as const;
/** Choices of rows. */
export const ONLY = ["problems", "old", "stale", "pending", "refused", "skewed", "behind"] as const;

/** One of {@link SORTS}. */
export type Sort = (typeof SORTS)[number];
/** One of {@link ONLY}. */
export type Only = (typeof ONLY)[number];

/** Of a look that was about something else. */
export const NOT_ASKED = { kind: "unknown", code: "not_asked", detail: "" } as const;

const wasAsked = ({ adoption }: FleetRow) =>
  adoption.kind !== "unknown" || adoption.code !== NOT_ASKED.code;

/** A `date` header tells whole seconds: less than that is no skew. */
const SKEW_MS = 5000;

const FRESHNESS = ["stale", "unknown", "aging", "fresh"] as const;

/** What a row is known by. */
const IS: Readonly<Record<Only, (row: FleetRow, newest: string | null) => boolean>> = {
  problems: (row, newest) =>
    (["old", "stale", "refused", "skewed"] as const).some((one) => IS[one](row, newest)) ||
    row.topology === "differs" || (row.adoption.kind === "unknown" && wasAsked(row)),
  old: ({ ageMs }) => ageMs !== 0,
  stale: ({ adoption }) => adoption.kind === "known" && adoption.adoption.freshness === "stale",
  pending: ({ adoption }) =>
    adoption.kind === "known" && adoption.adoption.pending_boot_since !== null,
  refused: ({ adoption, outcome }) =>
    outcome !== "done" || (adoption.kind === "known" && adoption.adoption.last_refusal !== null),
  skewed: ({ skewMs }) => skewMs !== null && Math.abs(skewMs) >= SKEW_MS,
  behind: ({ version }, newest) => newest !== null && version !== newest,
};

/** Chooses and orders. */
export function pickRows(
  rows: readonly FleetRow[],
  { sort, only }: { readonly sort: Sort; readonly only: readonly Only[] },
  newest: string | null,
): readonly FleetRow[] {
  const chosen = rows.filter((row) => only.every((one) => IS[one](row, newest)));
  return sort === "host" ? chosen : chosen.toSorted(ORDERS[sort]);
}

const age = ({ ageMs }: FleetRow) => ageMs ?? Infinity;
const freshness = ({ adoption }: FleetRow) =>
  FRESHNESS.indexOf(adoption.kind === "known" ? adoption.adoption.freshness : "unknown");
const trouble = (row: FleetRow) => PAINTS.indexOf(paintOf(row, null));
const PAINTS: readonly Paint[] = ["bad", "doubtful", "plain"];

/** All stable: rows that are alike stay in the order of their hosts. */
const ORDERS: Readonly<
  Record<Exclude<Sort, "host">, (left: FleetRow, right: FleetRow) => number>
> = {
  problems: (left, right) => trouble(left) - trouble(right),
  seen: (left, right) => age(right) === age(left) ? 0 : age(right) > age(left) ? 1 : -1,
  version: (left, right) =>
    left.version === null || right.version === null
      ? Number(left.version !== null) - Number(right.version !== null)
      : compareVersions(left.version, right.version),
  adoption: (left, right) => freshness(left) - freshness(right),
};

/** A host that does not answer is bad; one that is old in some way is doubtful. */
export function paintOf(row: FleetRow, newest: string | null): Paint {
  if (row.outcome !== "done") return "bad";
  if (!wasAsked(row)) return IS.behind(row, newest) ? "doubtful" : "plain";
  return IS.stale(row, null) || IS.skewed(row, null) || IS.pending(row, null) ||
      row.topology === "differs" || row.adoption.kind === "unknown"
    ? "doubtful"
    : "plain";
}

/** Names of hosts in one sentence. */
const MOST_NAMES = 5;

/** The whole fleet in a line or two: what one look has to tell. */
export function summaryText(rows: readonly FleetRow[], shown: number): string {
  const outcomes = new Map<string, number>();
  for (const { outcome } of rows) {
    const word = outcome ?? "interrupted";
    outcomes.set(word, (outcomes.get(word) ?? 0) + 1);
  }
  const of = (only: Only) => rows.filter((row) => IS[only](row, null));
  const skewed = of("skewed").map(({ host, skewMs }) => `${host} ${skewText(skewMs ?? 0)}`);
  const parts = [
    `${rows.length} ${rows.length === 1 ? "host" : "hosts"}: ` +
    [...outcomes].sort(([left], [right]) => placeOf(left) - placeOf(right))
      .map(([word, count]) => `${count} ${word}`).join(", "),
    ...(of("stale").length === 0 ? [] : [`${of("stale").length} stale`]),
    ...(of("pending").length === 0 ? [] : [`${of("pending").length} with a boot pending`]),
    ...(skewed.length === 0 ? [] : [`clocks: ${namesOf(skewed)}`]),
    ...(shown === rows.length ? [] : [`${shown} shown`]),
  ];
  return `${parts.join("; ")}\n`;
}

function placeOf(outcome: string): number {
  return (OUTCOMES as readonly string[]).indexOf(outcome);
}

function namesOf(names: readonly string[]): string {
  const more = names.length - MOST_NAMES;
  return names.slice(0, MOST_NAMES).join(", ") + (more > 0 ? ` and ${more} more` : "");
}
