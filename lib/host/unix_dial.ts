/**
 * Dials a unix socket of this machine. It takes no address, so nothing remote can be meant.
 *
 * @module
 */

import type { Dial, Dialed, DialFailure } from "../relay/dial.ts";
import { aborted, OpenConn, timedOut } from "./dial.ts";
import { causeOf, codeOf } from "./os_error.ts";

/** errno -> what it means here; a name this table lacks is `connect_unreachable`. */
const MEANING: { readonly [code: string]: DialFailure } = {
  ECONNREFUSED: "connect_refused", // a socket file that nobody serves any more
  ENOENT: "connect_refused",
};

/** A dial that goes to the socket at `path`, whatever endpoint it is given. */
export function unixDial(path: string): Dial {
  return async (_endpoint, { connectMs, signal }): Promise<Dialed> => {
    if (signal.aborted) return aborted();
    const { promise: given, resolve: giveUp } = Promise.withResolvers<Dialed>();
    const onAbort = () => giveUp(aborted());
    signal.addEventListener("abort", onAbort, { once: true });
    const timer = setTimeout(() => giveUp(timedOut(connectMs)), connectMs);
    const connecting = Deno.connect({ transport: "unix", path });
    try {
      const first = await Promise.race([connecting, given]);
      if (!("kind" in first)) return { kind: "connected", conn: new OpenConn(first) };
      connecting.then((conn) => conn.close(), () => {}); // nobody holds one that comes late
      return first;
    } catch (error) {
      const code = MEANING[codeOf(error)] ?? "connect_unreachable";
      return { kind: "failed", code, cause: causeOf(error) };
    } finally {
      clearTimeout(timer);
      signal.removeEventListener("abort", onAbort);
    }
  };
}
