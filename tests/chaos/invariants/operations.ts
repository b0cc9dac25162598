/**
 * No operation is run twice, and a key has one truthful answer.
 *
 * @module
 */

import type { AskFact, Facts, LedgerRow, Violation } from "../facts.ts";
import { unitOf } from "../fleet.ts";
import { groupBy } from "./excuse.ts";

const TWICE = "no operation run twice";
const TRUTH = "a key has one truthful answer";
/** Codes of an answer that is not the end of the run it may be about. */
const PASSING = /^(agent_busy|agent_stopping|ledger_unavailable|audit_unavailable|token_.*)$/;

/** Keys of which more than one run came. */
export function ranTwice(
  { asks, audit, ledger, orders }: Pick<Facts, "asks" | "audit" | "ledger" | "orders">,
): readonly Violation[] {
  const violations: Violation[] = [];
  const say = (detail: string) => void violations.push({ invariant: TWICE, detail });
  for (const [key, rows] of groupBy(asks, ({ host, key: one }) => `${host} ${one}`)) {
    const runs = new Set(rows.flatMap(({ run }) => run === null ? [] : [run]));
    if (runs.size > 1) say(`${key}: ${[...runs].join(", ")}`);
  }
  const ends = audit.filter(({ phase, action, key, outcome }) =>
    phase === "end" && action === "apply" && key !== null && outcome === "done"
  );
  for (const [key, rows] of groupBy(ends, (one) => `${one.host} ${one.key}`)) {
    if (rows.length > 1) say(`${key}: done ${rows.length} times by the audit`);
  }
  for (const [key, rows] of groupBy(ledger, ({ host, key: one }) => `${host} ${one}`)) {
    if (rows.length > 1) say(`${key}: ${rows.length} rows in the ledger`);
  }
  // Nothing but these operations starts `embed`: each start needs a key of its own.
  const starts = groupBy(
    orders.filter(({ host, verb, unit }) => verb === "start" && unit === unitOf(host, "embed")),
    hostOf,
  );
  for (const [host, rows] of starts) {
    const keys = new Set(
      asks.filter((one) => one.host === host && /^serves\.(restart|up)$/.test(one.operation))
        .map(({ key }) => key),
    );
    if (rows.length > keys.size) {
      say(`${host}: ${rows.length} starts of embed by ${keys.size} keys`);
    }
  }
  return violations;
}

function hostOf({ host }: { readonly host: string }): string {
  return host;
}

/** Keys whose answers differ from each other, from the ledger, or from what is so. */
export function untruthfulKey(
  { asks, ledger, tokens }: Pick<Facts, "asks" | "ledger" | "tokens">,
): readonly Violation[] {
  const violations: Violation[] = [];
  const say = (detail: string) => void violations.push({ invariant: TRUTH, detail });
  const rows = new Map(ledger.map((row) => [`${row.host} ${row.key}`, row]));
  for (const [key, told] of groupBy(asks, ({ host, key: one }) => `${host} ${one}`)) {
    const row = rows.get(key);
    const settled = told.filter(isSettled);
    const ends = new Set(settled.map(({ said }) => said));
    if (ends.size > 1) say(`${key} ${told[0]?.operation}: ${[...ends].join(", then ")}`);
    if (row === undefined && settled.some(({ run }) => run !== null)) say(`${key}: no row for it`);
    const [first] = settled;
    if (row !== undefined && first !== undefined) {
      const isDone = first.said === "done";
      if (isDone !== (row.state === "done")) {
        say(`${key} ${row.operation}: said ${first.said}, the ledger says ${row.state}`);
      }
    }
    if (row?.state === "running") say(`${key} ${row.operation}: running still, by the ledger`);
    checkToken(told, row, tokens, say);
  }
  return violations;
}

/** An answer that tells how the run ended. */
function isSettled({ status, said, run, state }: AskFact): boolean {
  if (status === null || said === null || PASSING.test(said)) return false;
  return run !== null && state !== "running";
}

function checkToken(
  told: readonly AskFact[],
  row: LedgerRow | undefined,
  tokens: Facts["tokens"],
  say: (detail: string) => void,
): void {
  const [first] = told;
  if (first === undefined || first.hash === null) return;
  const there = tokens.filter((one) => one.host === first.host && one.hash === first.hash).length;
  const what = `${first.host} ${first.key} ${first.operation}`;
  if (there > 1) say(`${what}: its token is there ${there} times`);
  if (row?.state === "done" && there === 0) say(`${what}: done, and its token is not there`);
  const none = row === undefined || (row.state !== "done" && row.effect === "none");
  if (none && there > 0) {
    say(`${what}: ${row?.state ?? "never run"} without effect, and its token is there`);
  }
}
