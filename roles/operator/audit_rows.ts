/**
 * Audit records of many hosts in the order in which they happened, as far as clocks tell. A tail of
 * the whole fleet is bounded: of each host's answer only what may still be among the newest is kept.
 *
 * @module
 */

import { z } from "zod";
import type { Json } from "../../lib/core/canonical_json.ts";
import type { Outcome } from "../../lib/dispatch/outcome.ts";
import { objectOf } from "../../lib/dispatch/reply.ts";
import { table } from "../../lib/terminal/table.ts";
import { theirNow } from "./fleet_table.ts";
import { short } from "./told.ts";

const word = z.string().transform((text) => short(text, 120));
const recordShape = z.looseObject({
  at: z.iso.datetime(),
  seq: z.int(),
  phase: z.enum(["start", "end", "refused", "pruned"]),
  call: word,
  principal: word,
  operation: word,
  action: word,
  key: word.nullable().catch(null),
  dry_run: z.boolean().catch(false),
  outcome: word.nullable().catch(null),
  code: word.nullable().catch(null),
  duration_ms: z.number().nullable().catch(null),
});

/** One record, and where it is from. */
export type AuditRow = {
  readonly host: string;
  /** As the host's clock said it. */
  readonly at: string;
  /** By our clock, in Unix milliseconds: what rows are ordered by. */
  readonly ours: number;
  readonly seq: number;
  readonly phase: "start" | "end" | "refused" | "pruned";
  readonly call: string;
  readonly principal: string;
  readonly operation: string;
  readonly action: string;
  readonly key: string | null;
  readonly dry_run: boolean;
  readonly outcome: string | null;
  readonly code: string | null;
  readonly duration_ms: number | null;
};

/** What one host told: its rows, and how many records could not be read. */
export interface AuditTold {
  readonly rows: readonly AuditRow[];
  readonly unreadable: number;
}

/** Reads an outcome of `audit.tail`. A start whose end is there too says nothing more. */
export function auditTold(host: string, outcome: Outcome): AuditTold {
  const records = outcome.kind === "done" ? objectOf(outcome.result)?.["records"] : undefined;
  const list: readonly Json[] = Array.isArray(records) ? records : [];
  const read = list.flatMap((one) => recordShape.safeParse(one).data ?? []);
  const ended = new Set(read.flatMap(({ phase, call }) => phase === "end" ? [call] : []));
  let latest = -Infinity;
  const rows: AuditRow[] = [];
  for (const record of read.sort((left, right) => left.seq - right.seq)) {
    const { at, seq, phase, call, principal, operation, action, key, dry_run, ...rest } = record;
    // A clock that was set back does not turn the order of one host around.
    latest = Math.max(latest, Date.parse(at) - theirNow(0, outcome.skewMs));
    if (phase === "start" && ended.has(call)) continue;
    rows.push({
      ...{ host, at, ours: latest, seq, phase, call, principal, operation, action, key, dry_run },
      ...{ outcome: rest.outcome, code: rest.code, duration_ms: rest.duration_ms },
    });
  }
  return { rows, unreadable: list.length - read.length };
}

/** The newest `most` of both, oldest first; rows of one host stay in its own order. */
export function newestOf(
  left: readonly AuditRow[],
  right: readonly AuditRow[],
  most: number,
): readonly AuditRow[] {
  return [...left, ...right].sort((one, other) =>
    one.ours - other.ours ||
    (one.host === other.host ? one.seq - other.seq : one.host < other.host ? -1 : 1)
  ).slice(-most);
}

/** A line per record. */
export function auditText(rows: readonly AuditRow[]): string {
  if (rows.length === 0) return "no record\n";
  return table(
    ["at", "host", "who", "operation", "action", "outcome", "took", "key"],
    rows.map((row) => [
      new Date(row.ours).toISOString().replace(/\.\d+Z$/, "Z"),
      row.host,
      row.principal,
      row.operation,
      `${row.action}${row.dry_run ? ", dry" : ""}`,
      outcomeText(row),
      row.duration_ms === null ? "-" : `${Math.round(row.duration_ms)} ms`,
      row.key ?? "-",
    ]),
  );
}

function outcomeText({ phase, outcome, code }: AuditRow): string {
  const word = phase === "start" ? "begun" : outcome ?? phase;
  return code === null ? word : `${word}: ${code}`;
}
