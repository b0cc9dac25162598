/**
 * What is measured, for how long, and the order in which relays take turns.
 *
 * @module
 */

import type { Work } from "./job.ts";

/** What `--only` may name. */
export const SCENARIOS = ["json", "sse", "cancel", "rss", "growth", "uploads"] as const;

/** One of {@link SCENARIOS}. */
export type Scenario = (typeof SCENARIOS)[number];

/** How much of it. */
export interface Plan {
  readonly rounds: number;
  readonly works: readonly Work[];
  /** Wait after the start before memory is read, ms. */
  readonly settleMs: number;
}

const STREAMS_GROWTH = [10, 100, 500, 1000];
/** All streams together, so that only their number grows. */
const GROWTH_EVENTS_PER_SECOND = 5000;

/** What one turn of a relay consists of; each turn has a process of its own. */
export function plan(scenario: Scenario, quick: boolean, rounds: number | null): Plan {
  const settleMs = quick ? 200 : 500;
  const usual = quick ? 1 : 3;
  switch (scenario) {
    case "json":
      return {
        rounds: rounds ?? usual,
        settleMs,
        works: (quick ? [32, 1] : [32, 1, 64]).map((connections, i) => ({
          kind: "json",
          connections,
          // The first load meets a cold process: a compiler needs thousands of requests.
          warmSeconds: i > 0 ? 0.4 : quick ? 1 : 2,
          seconds: quick ? 0.7 : 1.5,
        })),
      };
    case "sse":
      return {
        rounds: rounds ?? usual,
        settleMs,
        works: [{
          kind: "sse",
          name: "sse",
          streams: 200,
          eventsPerSecond: 50,
          warmSeconds: quick ? 0.8 : 1.5,
          seconds: quick ? 1.2 : 3,
        }],
      };
    case "cancel":
      return {
        rounds: rounds ?? usual,
        settleMs,
        works: [{ kind: "cancel", aborts: quick ? 200 : 400, parallel: 20 }],
      };
    case "rss":
      return { rounds: rounds ?? usual, settleMs: quick ? 500 : 1500, works: [] };
    case "growth":
      return {
        rounds: rounds ?? 1,
        settleMs,
        works: (quick ? [10, 500] : STREAMS_GROWTH).map((streams) => ({
          kind: "sse",
          name: `growth${streams}`,
          streams,
          eventsPerSecond: GROWTH_EVENTS_PER_SECOND / streams,
          warmSeconds: quick ? 0.3 : 0.7,
          seconds: quick ? 0.5 : 1.5,
        })),
      };
    case "uploads":
      return {
        rounds: rounds ?? (quick ? 1 : 2),
        settleMs,
        works: [{ kind: "uploads", parallel: 8, each: quick ? 1 : 2 }],
      };
  }
}

/** The order of round `round`: everyone starts one place further, so no one always runs warm or cold. */
export function turns<T>(items: readonly T[], round: number): T[] {
  const shift = items.length === 0 ? 0 : round % items.length;
  return [...items.slice(shift), ...items.slice(0, shift)];
}
