/**
 * How far a fan-out is: one line that changes on a terminal, a line per host in a pipe.
 *
 * @module
 */

import type { Terminal } from "../../lib/core/terminal.ts";
import type { Outcome } from "../../lib/dispatch/outcome.ts";

/** Shown on standard error, so that standard output holds the result alone. */
export class Progress {
  readonly #terminal: Terminal;
  readonly #hosts: number;
  readonly #quiet: boolean;
  #told = 0;
  #done = 0;
  #width = 0;

  /** Nothing is shown for one host, or when a program reads. */
  constructor(terminal: Terminal, hosts: number, json: boolean) {
    this.#terminal = terminal;
    this.#hosts = hosts;
    this.#quiet = json || hosts < 2;
  }

  /** One more host has an outcome. */
  tell(outcome: Outcome): void {
    this.#told++;
    if (outcome.kind === "done") this.#done++;
    if (this.#quiet) return;
    if (!this.#terminal.isTerminal) {
      const code = outcome.code === null ? "" : ` ${outcome.code}`;
      return this.#terminal.err(`${outcome.host}: ${outcome.kind}${code}\n`);
    }
    this.#show(
      `${this.#told}/${this.#hosts} hosts, ${this.#done} done, ${this.#told - this.#done} not`,
    );
  }

  /** Takes the line away again. */
  end(): void {
    if (!this.#quiet && this.#terminal.isTerminal) this.#show("");
  }

  #show(line: string): void {
    this.#terminal.err(`\r${line.padEnd(this.#width)}${line === "" ? "\r" : ""}`);
    this.#width = line.length;
  }
}
