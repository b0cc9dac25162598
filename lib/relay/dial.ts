/**
 * The dial port: one TCP connection, and what may be done with it.
 *
 * @module
 */

import type { Endpoint } from "./upstream.ts";

/** A connection. One read and one write at a time; a read and a write may overlap. */
export interface Conn {
  /** Resolves with the count of bytes (at least 1) or null at FIN; rejects when the link broke. */
  read(into: Uint8Array<ArrayBuffer>): Promise<number | null>;
  /**
   * Resolves with how many bytes the system took, maybe not all. A rejected write took none: the
   * caller's `sent: "no"` rests on it.
   */
  write(bytes: Uint8Array): Promise<number>;
  /** Closes at once; a pending read or write rejects. Safe more than once. */
  close(): void;
}

/** Why there is no connection. */
export type DialFailure =
  | "connect_refused"
  | "connect_unreachable"
  | "connect_timeout"
  | "connect_tls"
  | "connect_local"
  | "aborted";

/** A connection, or why there is none. */
export type Dialed =
  | { readonly kind: "connected"; readonly conn: Conn }
  | { readonly kind: "failed"; readonly code: DialFailure; readonly cause: string };

/** How long to wait, and who may end the wait. */
export interface DialLimits {
  /** Milliseconds. */
  readonly connectMs: number;
  readonly signal: AbortSignal;
}

/** Opens one connection; never tries twice. Nothing is written to it. */
export type Dial = (endpoint: Endpoint, limits: DialLimits) => Promise<Dialed>;
