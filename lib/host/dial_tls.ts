/**
 * Dials with TLS: what answers must prove that it is the literal address that was dialled, by a
 * certificate of an authority that is known here. Without that there is no connection.
 *
 * @module
 */

import type { Dial, Dialed } from "../relay/dial.ts";
import { OpenConn, openTcp } from "./dial.ts";
import { causeOf } from "./os_error.ts";

/** A dial that knows `authorities`, PEM texts, besides those of the runtime. */
export function tlsDial(authorities: readonly string[]): Dial {
  return async (endpoint, limits): Promise<Dialed> => {
    const opened = await openTcp(endpoint, limits);
    if (opened.kind === "failed") return opened;
    const { connectMs, signal } = limits;
    const aborted = { kind: "failed", code: "aborted", cause: "aborted while connecting" } as const;
    let socket: Deno.TcpConn | Deno.TlsConn = opened.socket;
    let cut = false;
    const onCut = () => {
      if (!cut) socket.close();
      cut = true;
    };
    signal.addEventListener("abort", onCut, { once: true });
    // The session may take as long again as the connection did at most.
    const timer = setTimeout(onCut, connectMs);
    try {
      const tls = await Deno.startTls(opened.socket, {
        hostname: endpoint.hostname,
        caCerts: [...authorities],
      });
      socket = tls;
      if (cut) tls.close();
      else await tls.handshake();
      if (!cut) return { kind: "connected", conn: new OpenConn(tls) };
      return signal.aborted
        ? aborted
        : { kind: "failed", code: "connect_tls", cause: `no session within ${connectMs} ms` };
    } catch (error) {
      onCut();
      return signal.aborted
        ? aborted
        : { kind: "failed", code: "connect_tls", cause: causeOf(error) };
    } finally {
      clearTimeout(timer);
      signal.removeEventListener("abort", onCut);
    }
  };
}
