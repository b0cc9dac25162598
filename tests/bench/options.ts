/**
 * The command line of the bench.
 *
 * @module
 */

import { type Scenario, SCENARIOS } from "./scenarios.ts";

/** What was asked for. */
export interface Options {
  readonly quick: boolean;
  /** In the order of {@link SCENARIOS}. */
  readonly only: readonly Scenario[];
  readonly rounds: number | null;
  /** Names of the rows wanted; empty: all. */
  readonly relays: readonly string[];
  readonly json: string | null;
  readonly write: string | null;
  /** Further rows of our own router: `NAME=VALUE` for its environment, or an argument of `run`. */
  readonly variants: readonly string[];
}

/** The help text. */
export const USAGE = `deno run -A tests/bench/main.ts [options]

  --quick               at most 90 s; rougher
  --only NAME[,NAME]    of ${SCENARIOS.join(", ")}; may be repeated
  --rounds N            1 to 20, for every scenario
  --relays NAME[,NAME]  only these rows: direct, nginx, haproxy, Portkey, router, ...
  --json FILE           everything measured, as JSON
  --write FILE          the report, as Markdown
  --also-router VARIANT one more row: the router with NAME=VALUE in its environment, or with an argument
`;

/** Reads it; a string is what is wrong with it. */
export function readOptions(args: readonly string[]): Options | string {
  const options = {
    quick: false,
    only: [] as string[],
    rounds: null as number | null,
    relays: [] as string[],
    json: null as string | null,
    write: null as string | null,
    variants: [] as string[],
  };
  for (let i = 0; i < args.length; i++) {
    const name = args[i] as string;
    if (name === "--quick") {
      options.quick = true;
      continue;
    }
    const value = args[++i];
    switch (name) {
      case "--only":
        options.only.push(...(value ?? "").split(","));
        break;
      case "--rounds":
        options.rounds = Number(value);
        break;
      case "--relays":
        options.relays.push(...(value ?? "").split(","));
        break;
      case "--json":
        options.json = value ?? "";
        break;
      case "--write":
        options.write = value ?? "";
        break;
      case "--also-router":
        options.variants.push(value ?? "");
        break;
      default:
        return `unknown option ${name}`;
    }
    if (value === undefined || value === "") return `${name} needs a value`;
  }
  const { rounds, only } = options;
  if (rounds !== null && !(Number.isInteger(rounds) && rounds >= 1 && rounds <= 20)) {
    return "--rounds takes a whole number from 1 to 20";
  }
  const known: readonly string[] = SCENARIOS;
  const unknown = only.find((scenario) => !known.includes(scenario));
  if (unknown !== undefined) return `--only knows ${SCENARIOS.join(", ")}, not ${unknown}`;
  return {
    ...options,
    only: SCENARIOS.filter((scenario) => only.length === 0 || only.includes(scenario)),
  };
}
