/**
 * No request is dispatched twice: an engine sees a marker once, whatever broke on the way.
 *
 * @module
 */

import type { Facts, Violation } from "../facts.ts";
import { groupBy } from "./excuse.ts";

const INVARIANT = "no request dispatched twice";

/** Markers that engines saw more than once, or that a router says it never sent, or decided twice. */
export function dispatchedTwice(
  { diary, decisions }: Pick<Facts, "diary" | "decisions">,
): readonly Violation[] {
  const violations: Violation[] = [];
  const came = groupBy(diary.filter(({ when }) => when === "came"), ({ marker }) => marker);
  for (const [marker, lines] of came) {
    if (lines.length === 1) continue;
    const where = lines.map(({ host, program }) => `${host} ${program}`).join(", ");
    violations.push({
      invariant: INVARIANT,
      detail: `${marker} came ${lines.length} times: ${where}`,
    });
  }
  for (const [id, rows] of groupBy(decisions, ({ request_id }) => request_id)) {
    if (rows.length > 1) {
      violations.push({ invariant: INVARIANT, detail: `${id} was decided ${rows.length} times` });
    }
    const lines = came.get(id) ?? [];
    if (rows.some(({ dispatched }) => dispatched === 0) && lines.length > 0) {
      const detail = `${id} is recorded as not dispatched, and ${lines[0]?.program} got it`;
      violations.push({ invariant: INVARIANT, detail });
    }
  }
  return violations;
}
