/**
 * Why this process cannot listen somewhere, from what the runtime threw.
 *
 * @module
 */

import { type Refusal, refuse } from "../core/refusal.ts";
import { causeOf } from "./os_error.ts";

/** Stable codes of a listener that did not come about. */
export type ListenRefusalCode =
  | "port_in_use"
  | "address_unavailable"
  | "listen_denied"
  | "listen_failed";

/** The refusal for `error`, thrown while opening a listener `at` a place on `hostname`. */
export function listenRefusal(
  error: unknown,
  at: string,
  hostname: string,
): Refusal<ListenRefusalCode> {
  if (error instanceof Deno.errors.AddrInUse) {
    return refuse(
      "port_in_use",
      `another process listens on ${at} already`,
      "stop that process, or choose another port in the configuration",
    );
  }
  if (error instanceof Deno.errors.AddrNotAvailable) {
    return refuse(
      "address_unavailable",
      `this host has no address ${hostname}`,
      "choose an address of this host",
    );
  }
  if (error instanceof Deno.errors.NotCapable || error instanceof Deno.errors.PermissionDenied) {
    return refuse(
      "listen_denied",
      `this process may not listen on ${at}: ${causeOf(error)}`,
      "choose a port above 1023, or widen the launcher's --allow-net",
    );
  }
  return refuse("listen_failed", `cannot listen on ${at}: ${causeOf(error)}`);
}
