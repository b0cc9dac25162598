/**
 * The bars our router is held to, and whether a run met them. A bar is judged on the median of the
 * rounds; a ratio is taken within each round first.
 *
 * @module
 */

import { METRICS, show } from "./metrics.ts";
import type { Results } from "./results.ts";
import type { Scenario } from "./scenarios.ts";
import { pairedDifferences, pairedRatios, type Spread, spread } from "./statistics.ts";

/** One requirement. */
export interface Bar {
  readonly scenario: Scenario;
  readonly metric: string;
  readonly text: string;
  /** Where it is written. */
  readonly source: string;
  readonly limit: { readonly most: number } | { readonly least: number };
  /** Relay to compare with; absent: the value itself is judged, in its stored unit. */
  readonly against?: string;
  /** True: what the relay adds to "direct" is compared, not the whole. */
  readonly added?: boolean;
}

const SOURCE = "20-router.md, Speed";

/** All of them. */
export const BARS: readonly Bar[] = [
  {
    scenario: "sse",
    metric: "sse.p50",
    text: "SSE 200 x 50/s: added latency per event, p50, at most 1.5x nginx",
    source: SOURCE,
    limit: { most: 1.5 },
    against: "nginx",
    added: true,
  },
  {
    scenario: "sse",
    metric: "sse.p99",
    text: "SSE 200 x 50/s: added latency per event, p99, at most 2x nginx",
    source: SOURCE,
    limit: { most: 2 },
    against: "nginx",
    added: true,
  },
  {
    scenario: "sse",
    metric: "sse.cpu",
    text: "SSE 200 x 50/s: CPU per event at most 1.8x nginx",
    source: SOURCE,
    limit: { most: 1.8 },
    against: "nginx",
  },
  {
    scenario: "json",
    metric: "json32.rate",
    text: "JSON 1 KiB, 32 connections: requests/s at least 10x Portkey",
    source: SOURCE,
    limit: { least: 10 },
    against: "Portkey",
  },
  {
    scenario: "json",
    metric: "json32.rate",
    text: "JSON 1 KiB, 32 connections: requests/s at least 0.3x nginx",
    source: SOURCE,
    limit: { least: 0.3 },
    against: "nginx",
  },
  {
    scenario: "json",
    metric: "json32.rate",
    text: "JSON 1 KiB, 32 connections: requests/s at least 0.5x nginx (the dream)",
    source: SOURCE,
    limit: { least: 0.5 },
    against: "nginx",
  },
  {
    scenario: "json",
    metric: "json1.p50",
    text: "JSON 1 KiB, one connection: added p50 at most 3x nginx",
    source: SOURCE,
    limit: { most: 3 },
    against: "nginx",
    added: true,
  },
  {
    scenario: "rss",
    metric: "idle.rss",
    text: "resident memory idle at most 110 MB",
    source: SOURCE,
    limit: { most: 110e6 },
  },
  {
    scenario: "sse",
    metric: "sse.rss_per_stream",
    text: "resident memory per open stream at most 300 KB (of 200)",
    source: SOURCE,
    limit: { most: 300e3 },
  },
  {
    scenario: "growth",
    metric: "growth1000.rss_per_stream",
    text: "resident memory per open stream at most 300 KB (of 1000)",
    source: SOURCE,
    limit: { most: 300e3 },
  },
  {
    scenario: "cancel",
    metric: "cancel.p99",
    text: "cancel to upstream close, p99, at most 20 ms",
    source: SOURCE,
    limit: { most: 20_000 },
  },
];

/** Below this, in us, what nginx adds is noise and a ratio to it says nothing. */
export const ADDED_FLOOR = 5;

/** How a bar came out. */
export interface Verdict {
  readonly bar: Bar;
  readonly outcome: "met" | "missed" | "unmeasured";
  /** Of the judged value: a ratio, or the metric's stored unit. */
  readonly spread: Spread | null;
  /** The figure in words, or why there is none. */
  readonly words: string;
}

/** Other programs that use more of a core than this are named beside the verdict. */
export const QUIET = 0.2;

/** Judges one bar for one relay. */
export function judge(bar: Bar, results: Results, relay: string): Verdict {
  const of = (name: string) => results.rounds(bar.scenario, name, bar.metric);
  const own = of(relay);
  const whole = bar.against === undefined ? own : pairedRatios(own, of(bar.against));
  const added = bar.against !== undefined && bar.added === true
    ? pairedRatios(
      pairedDifferences(own, of("direct")),
      pairedDifferences(of(bar.against), of("direct")),
      ADDED_FLOOR,
    )
    : null;
  const overWhole = spread(whole);
  if (overWhole === null) {
    return { bar, outcome: "unmeasured", spread: null, words: whyNot(bar, results, relay) };
  }
  const overAdded = added === null ? null : spread(added);
  const judged = overAdded ?? overWhole;
  const met = "most" in bar.limit
    ? judged.median <= bar.limit.most
    : judged.median >= bar.limit.least;
  const words = [inWords(bar, judged)];
  if (overAdded !== null) words.push(`of the whole latency ${overWhole.median.toFixed(2)}x`);
  else if (added !== null) {
    words.push(`of the whole latency: what ${bar.against} adds is below ${ADDED_FLOOR} us, noise`);
  }
  const values = overAdded === null ? whole : added ?? whole;
  const counted = values.filter((value) => value !== null).length;
  if (counted < values.length) words.push(`${counted} of ${values.length} rounds carry it`);
  const others = results.othersBusy(bar.scenario, sidesOf(bar, relay));
  if (others > QUIET) {
    words.push(`NOISY: other programs used up to ${(others * 100).toFixed(0)} % of a core`);
  }
  return { bar, outcome: met ? "met" : "missed", spread: judged, words: words.join("; ") };
}

function sidesOf(bar: Bar, relay: string): string[] {
  const peer = bar.against === undefined ? [] : [bar.against];
  return [relay, ...peer, ...(bar.added === true ? ["direct"] : [])];
}

function inWords(bar: Bar, { min, median, max }: Spread): string {
  const metric = METRICS.find(({ name }) => name === bar.metric);
  const word = (value: number) =>
    bar.against !== undefined || metric === undefined ? value.toFixed(2) : show(metric, value);
  const unit = bar.against !== undefined ? "x" : ` ${metric?.label.split(" ").at(-1) ?? ""}`;
  return `${word(median)}${unit} (${word(min)} to ${word(max)})`;
}

function whyNot(bar: Bar, results: Results, relay: string): string {
  for (const side of sidesOf(bar, relay)) {
    if (!results.has(bar.scenario, side)) return `${side} was not run`;
    const values = results.rounds(bar.scenario, side, bar.metric);
    if (values.every((value) => value === null)) {
      return `${side}: ${results.problems(bar.scenario, side)[0] ?? "not measured at this length"}`;
    }
  }
  return "no round has both sides";
}
