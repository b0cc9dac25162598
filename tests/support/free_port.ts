/**
 * A port nobody listens on right now: for what must be in a file before anything starts.
 *
 * @module
 */

/** Below what Linux, macOS and Windows give out by themselves: no connection takes it in between. */
const FIRST = 20_000;
const COUNT = 12_000;

/** Taken and given back; another process may take it in between, but hardly does. */
export function freePort(): number {
  for (let tries = 0; tries < 1000; tries++) {
    const [chance = 0] = crypto.getRandomValues(new Uint32Array(1));
    const port = FIRST + chance % COUNT;
    try {
      using _listener = Deno.listen({ hostname: "127.0.0.1", port });
      return port;
    } catch (error) {
      if (!(error instanceof Deno.errors.AddrInUse)) throw error;
    }
  }
  throw new Error("no port is free");
}
