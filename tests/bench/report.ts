/**
 * The run in words and tables: the same content for the terminal and for Markdown.
 *
 * @module
 */

import { BARS, judge, type Verdict } from "./bars.ts";
import type { Machine } from "./machine.ts";
import { type Metric, METRICS, show } from "./metrics.ts";
import type { Results } from "./results.ts";
import type { Scenario } from "./scenarios.ts";
import { pairedRatios, spread } from "./statistics.ts";
import { markdownTable, plainTable, type Rows, transpose } from "./table.ts";

/** One relay as the report introduces it. */
export interface Introduced {
  readonly name: string;
  readonly setup: string;
  /** Null: it took part. */
  readonly skipped: string | null;
  readonly version: string;
}

/** All that a report is made of. */
export interface Run {
  readonly machine: Machine;
  readonly relays: readonly Introduced[];
  readonly results: Results;
  readonly command: string;
  readonly seconds: number;
}

const TITLES: Readonly<Record<Scenario, string>> = {
  json: "JSON, 1 KiB each way, closed loop",
  sse: "SSE, 200 streams x 50 events/s",
  cancel: "Cancel: client leaves while the model thinks, until the upstream sees the close",
  rss: "Memory, idle",
  growth: "Growth: 5,000 events/s over more and more streams",
  uploads: "Uploads, 20 MiB each, 8 at once",
};

const BASE = "nginx";

/** A scenario's figures: a row per metric, a column per relay, `median (xRatio min-max)`. */
export function figures(results: Results, scenario: Scenario, relays: readonly string[]): Rows {
  const present = relays.filter((relay) => results.has(scenario, relay));
  const metrics = METRICS.filter((metric) =>
    metric.scenario === scenario &&
    present.some((relay) => results.rounds(scenario, relay, metric.name).some((v) => v !== null))
  );
  const columns = present.map((relay) => [
    relay,
    ...metrics.map((metric) => cell(results, metric, relay)),
  ]);
  return transpose([[`median of the rounds`, ...metrics.map(({ label }) => label)], ...columns]);
}

function cell(results: Results, metric: Metric, relay: string): string {
  const { scenario, name } = metric;
  const values = results.rounds(scenario, relay, name);
  const over = spread(values);
  if (over === null) return results.problems(scenario, relay).length > 0 ? "invalid" : "-";
  const value = show(metric, over.median) + (values.includes(null) ? "*" : "");
  if (
    relay === BASE || relay === "direct" || /busy|unseen|aborts|lateness|uploads.growth/.test(name)
  ) return value;
  const ratio = spread(pairedRatios(values, results.rounds(scenario, BASE, name)));
  if (ratio === null) return value;
  const { median, min, max } = ratio;
  return `${value} (x${short(median)}, ${short(min)}-${short(max)})`;
}

function short(ratio: number): string {
  return ratio >= 100 ? ratio.toFixed(0) : ratio >= 10 ? ratio.toFixed(1) : ratio.toFixed(2);
}

/** Every bar for one relay. */
export function verdicts(results: Results, relay: string): Verdict[] {
  const run = new Set(results.scenarios());
  return BARS.filter(({ scenario }) => run.has(scenario)).map((bar) => judge(bar, results, relay));
}

function barRows(list: readonly Verdict[]): Rows {
  return [
    ["bar", "outcome", "measured, median (min to max of the rounds)", "source"],
    ...list.map(({ bar, outcome, words }) => [bar.text, outcome, words, bar.source]),
  ];
}

function problemLines(results: Results, relays: readonly string[]): string[] {
  return results.scenarios().flatMap((scenario) =>
    relays.flatMap((relay) =>
      results.problems(scenario, relay).map((problem) => `${scenario}, ${relay}: ${problem}`)
    )
  );
}

/** The terminal's version. */
export function plainReport(run: Run): string {
  const names = run.relays.map(({ name }) => name);
  const parts = [machineLine(run.machine)];
  for (const scenario of run.results.scenarios()) {
    parts.push(`${TITLES[scenario]}\n${plainTable(figures(run.results, scenario, names))}`);
  }
  for (const relay of judged(run)) {
    parts.push(`Bars for ${relay}\n${plainBars(verdicts(run.results, relay))}`);
  }
  parts.push(...notes(run));
  return parts.join("\n\n") + "\n";
}

function plainBars(list: readonly Verdict[]): string {
  return list.map(({ bar, outcome, words }) =>
    `  ${outcome.padEnd(10)}  ${bar.text}\n              ${words}`
  ).join("\n");
}

function notes(run: Run): string[] {
  const skipped = run.relays.filter((relay) => relay.skipped !== null);
  const problems = problemLines(run.results, run.relays.map(({ name }) => name));
  const parts: string[] = [];
  if (skipped.length > 0) {
    parts.push(skipped.map(({ name, skipped: why }) => `SKIPPED ${name}: ${why}`).join("\n"));
  }
  if (problems.length > 0) {
    parts.push(
      "Loads with a problem do not count, nor what would follow in the turn (in all rounds: invalid; in some: *):\n" +
        problems.map((line) => `  ${line}`).join("\n"),
    );
  }
  return parts;
}

function judged(run: Run): string[] {
  return run.relays.filter(({ name, skipped }) => name.startsWith("router") && skipped === null)
    .map(({ name }) => name);
}

function machineLine({ cores, cpu, memoryGib, kernel, deno, pins, loadBefore }: Machine): string {
  const placed = pins === null
    ? "nothing pinned"
    : `relay pinned to core ${pins.relay}, load and upstream to core ${pins.load}`;
  return `${cores} cores (${cpu}), ${memoryGib} GiB, ${kernel}, Deno ${deno}; ${placed}; ` +
    `load average at the start ${loadBefore.toFixed(2)}`;
}

const METHOD =
  `Every relay runs in the same run, on loopback, on the same core; load and upstream share another. Each
turn has a fresh relay process; relays take turns within a round, and each round begins with the next one.
Ratios are taken within a round against nginx, then the median, least and greatest over the rounds are shown.

The upstream and the load are two processes of single synchronous epoll loops. Every stream event carries
its send time on CLOCK_MONOTONIC, which is one clock for all processes, so latency is one-way and a slow relay
cannot slow its own measurement down. Streams are out of phase; events leave in bursts of a millisecond.
"Added" is a quantile through the relay less the same quantile of "direct" in the same round; where nginx adds
less than 5 us by that count (load and upstream share a core, which costs "direct" more than the others), the
whole latencies are compared instead, and the verdict says so. JSON latency is that
of a closed loop: at 32 and 64 connections it is mostly queueing, and requests/s are the relay's own only where
its core is near 100 %; where the load's core is at its limit instead, the figure is a lower bound.

"Other programs" is CPU time of the machine that neither relay, load nor upstream used, in percent of one core; a
verdict whose turns saw more than 20 is marked NOISY and worth another run on a quiet machine.

CPU is the sum over the relay's processes and threads. Memory is the sum of their resident sizes; per stream it is
what the open streams added to the idle process. A cancel is a client that closes after its third event while
the next is 500 ms away. Every answer is compared with what the upstream sent, every stream is counted and checked
for order and its terminator, every upload is summed; a turn with any difference is invalid and shows no number.
(Portkey writes JSON anew: there, fields and not bytes are compared.) Megabytes and kilobytes are decimal.`;

/** The Markdown version. */
export function markdownReport(run: Run): string {
  const names = run.relays.map(({ name }) => name);
  const parts = [
    "# Benchmarks",
    `Written by \`${run.command}\` in ${Math.round(run.seconds)} s. Do not edit: run it again.`,
    "## Bars",
    ...judged(run).flatMap((
      relay,
    ) => [`### ${relay}`, markdownTable(barRows(verdicts(run.results, relay)))]),
    ...(judged(run).length === 0 ? ["No router took part."] : []),
    "## Figures",
    ...run.results.scenarios().flatMap((scenario) => [
      `### ${TITLES[scenario]}`,
      markdownTable(figures(run.results, scenario, names)),
    ]),
    ...notes(run).map((note) => "```text\n" + note + "\n```"),
    "## Method",
    METHOD,
    "## Machine and peers",
    machineLine(run.machine) + ".",
    markdownTable([
      ["relay", "version", "set up"],
      ...run.relays.map(({ name, version, setup, skipped }) => [
        name,
        skipped === null ? version : `skipped: ${skipped}`,
        setup,
      ]),
    ]),
  ];
  return parts.join("\n\n") + "\n";
}
