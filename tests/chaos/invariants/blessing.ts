/**
 * No unproven generation is blessed: what an adopter calls proven passed its probes, here.
 *
 * @module
 */

import type { Facts, Violation } from "../facts.ts";

const INVARIANT = "no unproven generation blessed";
/** `verdict.samples` and `verdict.window_seconds` of the walk's hosts. */
const SAMPLES = 2;
const WINDOW_MS = 3000;
/** The uptime is told in hundredths of a second, and a program takes a moment to tell it. */
const DOUBT_MS = 250;

/** Generations called proven that were not, and ones that ran without being true. */
export function blessedUnproven(
  { adoption, probes, published }: Pick<Facts, "adoption" | "probes" | "published">,
): readonly Violation[] {
  const violations: Violation[] = [];
  const say = (detail: string) => void violations.push({ invariant: INVARIANT, detail });
  const good = new Set(
    published.filter((one) => one.good).map(({ host, digest }) => `${host} ${digest}`),
  );
  const known = new Set(published.map(({ host, digest }) => `${host} ${digest}`));
  const seen = new Set<string>();
  for (const { host, proven, current } of adoption) {
    if (current !== null && !known.has(`${host} ${current}`)) {
      say(`${host}: ${short(current)} is current, and nobody published it`);
    }
    if (proven === null || seen.has(`${host} ${proven}`)) continue;
    seen.add(`${host} ${proven}`);
    if (!good.has(`${host} ${proven}`)) {
      say(`${host}: ${short(proven)} is proven, and it is no good`);
    }
    const passes = probes.filter((one) => one.host === host && one.digest === proven && one.pass);
    if (passes.length < SAMPLES) {
      say(`${host}: ${short(proven)} is proven by ${passes.length} samples, expected ${SAMPLES}`);
    }
    const times = passes.map(({ upMs }) => upMs);
    const span = Math.max(...times) - Math.min(...times);
    if (span < WINDOW_MS - DOUBT_MS) {
      say(`${host}: ${short(proven)} is proven by ${Math.round(span)} ms, expected ${WINDOW_MS}`);
    }
  }
  return violations;
}

function short(digest: string): string {
  return digest.slice(0, 12);
}
