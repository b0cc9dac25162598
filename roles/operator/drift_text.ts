/**
 * Drift as people look at it: problems first, hosts named, and what is as it should be only counted.
 *
 * @module
 */

import type { Json } from "../../lib/core/canonical_json.ts";
import { DRIFT_STATES, type DriftItem, driftVerdict } from "../../lib/home/host_drift.ts";
import { table } from "../../lib/terminal/table.ts";
import { short } from "./told.ts";

/** One host. */
export interface HostDrift {
  readonly host: string;
  readonly items: readonly DriftItem[];
  /** Why nothing of it could be looked at; null when something could. */
  readonly failed: { readonly code: string; readonly detail: string } | null;
}

/** `identical` only when everything was looked at and is as it should be. */
export function verdictOf({ items, failed }: HostDrift): "drift" | "unknown" | "identical" {
  return failed === null ? driftVerdict(items) : "unknown";
}

const ORDER = ["drift", "unknown", "identical"] as const;
/** States a row is printed for. */
const TOLD: readonly DriftItem["state"][] = ["differs", "missing", "extra", "unknown"];
/** Rows of one host; the rest is counted. `--json` has all. */
const MOST_ROWS = 40;

/** Hosts with problems first. */
export function driftText(hosts: readonly HostDrift[], set: string): string {
  const sorted = problemsFirst(hosts);
  const counts = ORDER.map((one) => ({
    one,
    count: hosts.filter((host) => verdictOf(host) === one).length,
  })).filter(({ count }) => count > 0).map(({ one, count }) => `${count} ${one}`);
  const head = `${counts.join(", ")}; compared with the live set ${set.slice(0, 12)}\n`;
  const rows = sorted.flatMap(hostRows);
  return rows.length === 0 ? head : `${head}\n${
    table(
      ["host", "verdict", "what", "name", "state", "expected", "observed", "why"],
      rows,
    )
  }`;
}

function hostRows(host: HostDrift): string[][] {
  const verdict = verdictOf(host);
  if (host.failed !== null) {
    const { code, detail } = host.failed;
    return [[host.host, verdict, "-", "-", "unknown", "-", "-", short(`${code}: ${detail}`)]];
  }
  const told = host.items.filter(({ state }) => TOLD.includes(state));
  const rows = told.slice(0, MOST_ROWS).map((item, at) => [
    at === 0 ? host.host : "",
    at === 0 ? verdict : "",
    item.kind,
    short(item.name, 80),
    item.state,
    digestText(item.expected),
    digestText(item.observed),
    short([item.code ?? "", item.keys.join(" ")].filter(Boolean).join(": ")),
  ]);
  const more = told.length - rows.length;
  return more > 0
    ? [...rows, ["", "", "-", `and ${more} more`, "-", "-", "-", "see --json"]]
    : rows;
}

function digestText(digest: string | null): string {
  if (digest === null) return "-";
  return /^[0-9a-f]{64}$/.test(digest) ? digest.slice(0, 12) : short(digest, 40);
}

function problemsFirst(hosts: readonly HostDrift[]): readonly HostDrift[] {
  const rank = (host: HostDrift) => ORDER.indexOf(verdictOf(host));
  return hosts.toSorted((left, right) => rank(left) - rank(right)); // stable
}

/** The same for programs. */
export function driftData(hosts: readonly HostDrift[]): Json {
  return hosts.map((host) => ({
    host: host.host,
    verdict: verdictOf(host),
    failed: host.failed,
    counts: Object.fromEntries(
      DRIFT_STATES.map((state) =>
        [state, host.items.filter((item) => item.state === state).length] as const
      ),
    ),
    items: host.items.filter(({ state }) => state !== "identical").map((item) => ({
      ...item,
      keys: [...item.keys],
    })),
  }));
}
