/**
 * `make bench`: our router beside nginx, haproxy and Portkey, in one run, on loopback.
 *
 * @module
 */

import { readMachine } from "./machine.ts";
import { type Options, readOptions, USAGE } from "./options.ts";
import type { Relay } from "./relay.ts";
import { relays } from "./relays.ts";
import { type Introduced, markdownReport, plainReport, type Run, verdicts } from "./report.ts";
import { Results } from "./results.ts";
import { plan, SCENARIOS, turns } from "./scenarios.ts";
import { startUpstream, type Stops, takeTurn } from "./turn.ts";

/** A full run stays below this; turns that would begin later are left out, aloud. */
const BUDGET_SECONDS = { full: 480, quick: 90 };

interface Row {
  readonly relay: Relay;
  readonly introduced: Introduced;
}

async function introduce(relay: Relay): Promise<Row> {
  const found = await relay.find();
  const skipped = found.kind === "missing" ? found.why : null;
  if (skipped !== null) say(`SKIPPED ${relay.name}: ${skipped}`);
  const version = found.kind === "found" ? found.version : "";
  return { relay, introduced: { name: relay.name, setup: relay.setup, skipped, version } };
}

function say(line: string): void {
  console.error(`bench: ${line}`);
}

async function measure(options: Options, rows: readonly Row[], stops: Stops) {
  const machine = await readMachine();
  const upstream = await startUpstream(machine);
  stops.add(upstream.stop);
  const begun = performance.now();
  const seconds = () => (performance.now() - begun) / 1000;
  const budget = options.quick ? BUDGET_SECONDS.quick : BUDGET_SECONDS.full;
  const results = new Results();
  const present = rows.filter(({ introduced }) => introduced.skipped === null);
  for (const scenario of options.only) {
    const steps = plan(scenario, options.quick, options.rounds);
    for (let round = 0; round < steps.rounds; round++) {
      for (const { relay } of turns(present, round)) {
        if (scenario === "rss" && relay.name === "direct") continue;
        const place = { scenario, round, relay: relay.name };
        if (options.rounds === null && seconds() > budget - 5) {
          say(`left out for lack of time: ${scenario}, round ${round + 1}, ${relay.name}`);
          results.add({ ...place, numbers: {}, problems: ["left out: the time budget was spent"] });
          continue;
        }
        const turn = await takeTurn(relay, scenario, round, steps, upstream, machine, stops);
        results.add(turn);
        const state = turn.problems.length === 0 ? "ok" : `INVALID: ${turn.problems[0]}`;
        say(
          `${seconds().toFixed(0).padStart(4)} s  ${scenario} ${round + 1}/${steps.rounds}  ` +
            `${relay.name}: ${state}`,
        );
      }
    }
  }
  stops.delete(upstream.stop);
  await upstream.stop();
  return { machine, results, seconds: seconds() };
}

async function write(options: Options, run: Run): Promise<void> {
  console.log(plainReport(run));
  if (options.write !== null) await Deno.writeTextFile(options.write, markdownReport(run));
  if (options.json === null) return;
  const routers = run.relays.filter(({ name }) => name.startsWith("router"));
  const bars = routers.flatMap(({ name }) =>
    verdicts(run.results, name).map((verdict) => ({ relay: name, ...verdict }))
  );
  const { machine, relays, command, seconds } = run;
  const turns = run.results.turns;
  const text = JSON.stringify(
    { schema: 1, command, seconds, machine, relays, bars, turns },
    null,
    1,
  );
  await Deno.writeTextFile(options.json, text + "\n");
}

/** The command that measures the same again; without the files it wrote, which are a matter of place. */
function commandLine({ quick, only, rounds, relays, variants }: Options): string {
  return [
    "deno run -A tests/bench/main.ts",
    ...(quick ? ["--quick"] : []),
    ...(only.length === SCENARIOS.length ? [] : ["--only", only.join(",")]),
    ...(rounds === null ? [] : ["--rounds", String(rounds)]),
    ...(relays.length === 0 ? [] : ["--relays", relays.join(",")]),
    ...variants.flatMap((variant) => ["--also-router", variant]),
  ].join(" ");
}

async function main(args: string[]): Promise<number> {
  if (args.includes("--help")) {
    console.log(USAGE);
    return 0;
  }
  const options = readOptions(args);
  if (typeof options === "string") {
    console.error(`bench: ${options}\n\n${USAGE}`);
    return 2;
  }
  if (Deno.build.os !== "linux") {
    console.error(
      "bench: measures by /proc, epoll and CLOCK_MONOTONIC, so it needs Linux; skipped",
    );
    return 0;
  }
  const stops = new Set() as Stops;
  const stopAll = async () => {
    await Promise.allSettled([...stops].map((stop) => stop()));
    Deno.exit(130);
  };
  Deno.addSignalListener("SIGINT", stopAll);
  Deno.addSignalListener("SIGTERM", stopAll);
  const rows: Row[] = [];
  const all = relays(options.variants);
  const unknown = options.relays.find((name) => !all.some((relay) => relay.name === name));
  if (unknown !== undefined) {
    console.error(`bench: no row ${unknown}; there are ${all.map(({ name }) => name).join(", ")}`);
    return 2;
  }
  for (const relay of all) {
    if (options.relays.length === 0 || options.relays.includes(relay.name)) {
      rows.push(await introduce(relay));
    }
  }
  try {
    const measured = await measure(options, rows, stops);
    const command = commandLine(options);
    const introduced = rows.map((row) => row.introduced);
    await write(options, { ...measured, relays: introduced, command });
    return 0;
  } finally {
    await Promise.allSettled([...stops].map((stop) => stop()));
  }
}

Deno.exit(await main(Deno.args));
