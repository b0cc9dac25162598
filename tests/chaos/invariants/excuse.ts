/**
 * What a fault excuses: which programs and ways were really harmed in a span of time.
 *
 * @module
 */

import type { FaultKind } from "../fault.ts";
import type { Facts, Life } from "../facts.ts";

/** Whether a fault of one of `kinds` was on `host` in the span, or up to `after` ms before it. */
export function wasHarmed(
  { inflicted }: Pick<Facts, "inflicted">,
  host: string,
  kinds: readonly FaultKind[],
  from: number,
  to: number,
  after = 0,
): boolean {
  return inflicted.some(({ fault, from: began, to: ended }) =>
    kinds.includes(fault.kind) && (!("host" in fault) || fault.host === host) &&
    began <= to && ended + after >= from
  );
}

/** Lives of a program that ended in the span. */
export function endedIn(
  lives: readonly Life[],
  host: string,
  program: string,
  from: number,
  to: number,
): boolean {
  return lives.some((life) =>
    life.host === host && life.program === program && life.ended !== null &&
    life.ended >= from && life.ended <= to
  );
}

/** Rows by a key. */
export function groupBy<T>(
  rows: readonly T[],
  keyOf: (row: T) => string,
): ReadonlyMap<string, T[]> {
  const found = new Map<string, T[]>();
  for (const row of rows) {
    const key = keyOf(row);
    const group = found.get(key);
    if (group === undefined) found.set(key, [row]);
    else group.push(row);
  }
  return found;
}
