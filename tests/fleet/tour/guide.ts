/**
 * Who leads a tour: tells what is done, shows the command as a person would type it and the beginning
 * of its real answer, and keeps count of what was proven.
 *
 * @module
 */

import type { ExecOptions, FleetRig, HostId, Said } from "../rig.ts";

/** One station. */
export interface Station {
  readonly title: string;
  /** What is true when `walk` came to its end. */
  readonly proves: string;
  readonly walk: (guide: Guide) => Promise<void>;
}

/** Of an answer, so many lines of so many characters are shown. */
const MOST_LINES = 9;
const MOST_CHARS = 150;

/** What a station found otherwise than it should be. */
export class NotProven extends Error {}

/** The guide of one tour. */
export class Guide {
  readonly fleet: FleetRig;
  readonly #print: (line: string) => void;

  constructor(fleet: FleetRig, print: (line: string) => void) {
    this.fleet = fleet;
    this.#print = print;
  }

  /** A sentence about what happens. */
  tell(line: string): void {
    this.#print(`   ${line}`);
  }

  /** Throws unless it holds. */
  expect(holds: boolean, what: string): void {
    if (!holds) throw new NotProven(`expected ${what}`);
  }

  /** `anvil-operator` on the gateway; `code` is how it must end. */
  async operator(argv: readonly string[], options: ShownOptions = {}): Promise<Said> {
    this.#typed("gateway", ["anvil-operator", ...argv]);
    return this.#shown(
      await this.fleet.operator(argv, { deadlineMs: 400_000, ...options }),
      options,
    );
  }

  /** `anvil-operator … --json` on the gateway, its `data`. */
  async asked(argv: readonly string[], options: ShownOptions = {}): Promise<Data> {
    const said = await this.operator([...argv, "--json"], { lines: 0, ...options });
    return (JSON.parse(said.out) as { readonly data: Data }).data;
  }

  /** A program on a host, by its owner. */
  async hand(host: HostId, argv: readonly string[], options: ShownOptions = {}): Promise<Said> {
    this.#typed(host, argv);
    const as = options.as ?? (host === "gateway" ? "root" : "anvil");
    return this.#shown(await this.fleet.exec(host, argv, { ...options, as }), options);
  }

  /** Looks twice a second until it holds. */
  async until(what: string, holds: () => Promise<boolean>, mostMs: number): Promise<void> {
    const deadline = performance.now() + mostMs;
    while (!await holds()) {
      this.expect(performance.now() < deadline, `within ${mostMs / 1000} s: ${what}`);
      await new Promise((resolve) => setTimeout(resolve, 500));
    }
  }

  #typed(host: HostId, argv: readonly string[]): void {
    const words = argv.map((word) =>
      /^[\w@%+=:,./*-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`
    );
    this.#print(`   ${host}$ ${short(words.join(" "), 220)}`);
  }

  #shown(said: Said, { code = 0, lines = MOST_LINES }: ShownOptions): Said {
    const all = `${said.out}${code === 0 && said.code === 0 ? "" : said.err}`.trimEnd().split("\n");
    for (const line of all.slice(0, lines)) this.#print(`   │ ${short(line, MOST_CHARS)}`);
    if (lines > 0 && all.length > lines) this.#print(`   │ … ${all.length - lines} more lines`);
    if (code !== "any" && said.code !== code) {
      if (lines === 0) this.#print(`   │ ${short(`${said.out} ${said.err}`, 600)}`);
      throw new NotProven(`expected exit ${code}, observed ${said.code}: ${short(said.err, 300)}`);
    }
    return said;
  }
}

/** How a command is shown. */
export interface ShownOptions extends ExecOptions {
  /** How it must end. Default 0. */
  readonly code?: number | "any";
  /** Lines of its answer that are shown. */
  readonly lines?: number;
}

/** `data` of an envelope: looked into, never relied upon. */
export type Data = { readonly [key: string]: Data } & readonly Data[];

function short(line: string, most: number): string {
  return line.length > most ? `${line.slice(0, most - 1)}…` : line;
}

/** Walks through all of them; the number of those that were not proven. */
export async function tour(
  fleet: FleetRig,
  stations: readonly Station[],
  print: (line: string) => void = console.log,
): Promise<number> {
  const began = performance.now();
  const seconds = (since: number) => `${((performance.now() - since) / 1000).toFixed(1)} s`;
  let failed = 0;
  for (const [index, { title, proves, walk }] of stations.entries()) {
    const at = performance.now();
    print(`\n── ${index + 1} of ${stations.length}: ${title}`);
    try {
      await walk(new Guide(fleet, print));
      print(`   proves: ${proves} (${seconds(at)})`);
    } catch (error) {
      failed++;
      print(`   NOT PROVEN: ${error instanceof Error ? error.message : error} (${seconds(at)})`);
    }
  }
  const proven = stations.length - failed;
  print(`\ntour: ${proven} steps proven, ${failed} failed, ${seconds(began)}`);
  return failed;
}
