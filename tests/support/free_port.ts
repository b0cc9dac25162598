/**
 * A port nobody listens on right now: for what must be in a file before anything starts.
 *
 * @module
 */

/** Taken and given back; another process may take it in between, but hardly does. */
export function freePort(): number {
  using listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  return listener.addr.port;
}
