/**
 * No tier is ready with a wrong identity.
 *
 * @module
 */

import type { Facts, Life, Violation } from "../facts.ts";
import { wasHarmed } from "./excuse.ts";

const INVARIANT = "no tier ready with a wrong identity";
/** A probe began at most so long before it was over: `timeout_ms` of the walk's routers, doubled. */
const PROBE_MS = 2000;
/** A tier whose engine was swapped gets no request after so long, in milliseconds. */
const NOTICE_MS = 12_000;

/** Members that were proven ready by an engine that served another model, or asked long after. */
export function wrongIdentity(
  facts: Pick<Facts, "samples" | "lives" | "diary" | "inflicted">,
): readonly Violation[] {
  const wrong = facts.lives.filter(({ model, expected }) => model !== expected);
  const violations: Violation[] = [];
  for (const { host, from, to, tiers } of facts.samples) {
    for (const { tier, members } of tiers) {
      for (const { program, state, age_ms } of members) {
        if (state !== "ready" || age_ms === null) continue;
        const life = wrong.find((one) =>
          one.host === host && one.program === program &&
          lived(one, from - age_ms - PROBE_MS, to - age_ms)
        );
        if (life === undefined) continue;
        const detail = `${host} ${tier}: ready at ${at(from)}, proven while ${life.model} served`;
        violations.push({ invariant: INVARIANT, detail });
      }
    }
  }
  for (const { host, program, model, at: came, marker, when } of facts.diary) {
    if (when !== "came") continue;
    const life = wrong.find((one) =>
      one.host === host && one.program === program && one.model === model &&
      lived(one, came - NOTICE_MS, came)
    );
    if (life === undefined) continue;
    if (wasHarmed(facts, host, ["pause"], came - NOTICE_MS, came)) continue;
    const detail = `${host} ${program}: ${marker} went to ${model} long after it was swapped in`;
    violations.push({ invariant: INVARIANT, detail });
  }
  return violations;
}

/** Whether it lived all through the span. */
function lived({ began, ended }: Life, from: number, to: number): boolean {
  return began < from && (ended === null || ended > to);
}

function at(ms: number): string {
  return `${(ms / 1000).toFixed(1)} s`;
}
