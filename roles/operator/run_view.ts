/**
 * A run as it happens, on standard error: steps that are over stay, the one that runs changes in
 * place with its time. In a pipe each step is one line, once; for a program nothing is shown.
 *
 * No more than one line is ever written over, so that neither the height of a terminal nor what
 * somebody else prints can spoil the rest.
 *
 * @module
 */

import type { Clock } from "../../lib/core/clock.ts";
import type { Terminal } from "../../lib/core/terminal.ts";
import { harmless } from "./told.ts";

/** Columns that the line which changes may take: a longer one would wrap and stay. */
const COLUMNS = 79;

/** The view. */
export class RunView {
  readonly #terminal: Terminal;
  readonly #clock: Pick<Clock, "monotonic">;
  readonly #host: string;
  readonly #quiet: boolean;
  readonly #began: number;
  /** The plan's steps in words, where a plan was shown. */
  readonly #steps: readonly string[];
  #step: string | null = null;
  #width = 0;

  constructor(
    terminal: Terminal,
    clock: Pick<Clock, "monotonic">,
    { host, quiet, steps }: {
      readonly host: string;
      readonly quiet: boolean;
      readonly steps: readonly string[];
    },
  ) {
    this.#terminal = terminal;
    this.#clock = clock;
    this.#host = host;
    this.#quiet = quiet;
    this.#steps = steps;
    this.#began = clock.monotonic();
  }

  /** The run is at `step` now. */
  tell(step: string): void {
    if (step === this.#step) return this.#draw();
    this.#settle();
    this.#step = step;
    if (this.#quiet) return;
    if (this.#terminal.isTerminal) this.#draw();
    else this.#terminal.err(`${this.#host}: ${this.#elapsed()}: ${this.#numbered(step)}\n`);
  }

  /** Something besides the steps. */
  remark(text: string): void {
    if (this.#quiet) return;
    this.#erase();
    this.#terminal.err(harmless(`${this.#host}: ${text}\n`));
    this.#draw();
  }

  /** Nothing more comes. */
  end(): void {
    this.#settle();
    this.#step = null;
  }

  /** The line that runs stays as it is, and the next one begins. */
  #settle(): void {
    if (this.#step === null || !this.#live) return;
    this.#draw();
    this.#terminal.err("\n");
    this.#width = 0;
  }

  #draw(): void {
    if (this.#step === null || !this.#live) return;
    const line = `  ${this.#elapsed().padStart(11)}  ${this.#numbered(this.#step)}`.slice(
      0,
      COLUMNS,
    );
    this.#terminal.err(`\r${line.padEnd(this.#width)}`);
    this.#width = line.length;
  }

  #erase(): void {
    if (this.#width > 0) this.#terminal.err(`\r${" ".repeat(this.#width)}\r`);
    this.#width = 0;
  }

  get #live(): boolean {
    return !this.#quiet && this.#terminal.isTerminal;
  }

  #elapsed(): string {
    return elapsedText(this.#clock.monotonic() - this.#began);
  }

  /** `000007-enter: stop serve chat` is the third of nine, when the plan said so. */
  #numbered(step: string): string {
    const at = this.#steps.indexOf(step.replace(/^\d{6}-[a-z]+: /, ""));
    const place = at < 0 ? "" : `[${at + 1}/${this.#steps.length}] `;
    return harmless(`${place}${step}`).replaceAll("\n", " ");
  }
}

/** A duration in milliseconds, as a person follows it. */
export function elapsedText(ms: number): string {
  if (ms < 10_000) return `${(Math.max(0, ms) / 1000).toFixed(1)} s`;
  const seconds = Math.floor(ms / 1000);
  return seconds < 60
    ? `${seconds} s`
    : `${Math.floor(seconds / 60)} min ${String(seconds % 60).padStart(2, "0")} s`;
}
