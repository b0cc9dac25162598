/**
 * The remarks port: what a long-running program says to the people who run it.
 *
 * @module
 */

/** Says things to the people who run a program; metadata only. */
export interface Remarks {
  readonly info: (message: string, properties: { readonly [name: string]: unknown }) => void;
  readonly warn: (message: string, properties: { readonly [name: string]: unknown }) => void;
  readonly error: (message: string, properties: { readonly [name: string]: unknown }) => void;
}
