/**
 * The terminal port: where a program's words go.
 *
 * @module
 */

/** Where a program writes, and who reads it. */
export interface Terminal {
  readonly out: (text: string) => void;
  readonly err: (text: string) => void;
  /** True when a person reads stdout: tables and colours are worth it. */
  readonly isTerminal: boolean;
  readonly color: boolean;
}
