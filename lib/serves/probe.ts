/**
 * The probe port: what an engine itself says once it listens, health first and then its model.
 *
 * @module
 */

import type { Serve } from "./manifest_shape.ts";

/** What one question gave. */
export type Probed =
  | { readonly kind: "ready" }
  /** Nobody listens, no answer in time, or a status other than 200: it may be loading still. */
  | { readonly kind: "not_ready"; readonly observed: string }
  /** It is healthy and serves something else. */
  | { readonly kind: "mismatch"; readonly expected: string; readonly observed: string }
  /** It is healthy and what it says of its model cannot be read. */
  | { readonly kind: "unparseable"; readonly observed: string };

/** Asks the engine of `serve` once. Bounded in time; never rejects for what the engine does. */
export type Probe = (serve: Serve, signal: AbortSignal) => Promise<Probed>;
