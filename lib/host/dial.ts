/**
 * Dials over TCP with this machine's network. `TCP_NODELAY` is set: a head must not wait for a body.
 *
 * @module
 */

import type { Conn, Dial, Dialed, DialFailure, DialLimits } from "../relay/dial.ts";
import type { Endpoint } from "../relay/upstream.ts";
import { causeOf, codeOf } from "./os_error.ts";

/** errno -> what it means here; a name this table lacks is `connect_unreachable`. */
const MEANING: { readonly [code: string]: DialFailure } = {
  ECONNREFUSED: "connect_refused",
  ECONNRESET: "connect_refused",
  ETIMEDOUT: "connect_timeout",
  EACCES: "connect_local",
  EADDRNOTAVAIL: "connect_local",
  EMFILE: "connect_local",
  ENFILE: "connect_local",
  EPERM: "connect_local",
  NotCapable: "connect_local",
};

/** How long sockets are looked at once more before a dial is given up, in milliseconds. */
const LOOK_MS = 10;

/** Opens one TCP connection to a literal address. */
export const tcpDial: Dial = async (endpoint, limits): Promise<Dialed> => {
  const opened = await openTcp(endpoint, limits);
  return opened.kind === "failed"
    ? opened
    : { kind: "connected", conn: new OpenConn(opened.socket) };
};

/** The same, before anybody reads or writes. */
export async function openTcp(
  endpoint: Endpoint,
  { connectMs, signal }: DialLimits,
): Promise<
  | { readonly kind: "open"; readonly socket: Deno.TcpConn }
  | Extract<Dialed, { kind: "failed" }>
> {
  if (signal.aborted) return aborted();
  const giveUp = new AbortController();
  // at its end Deno.connect asks the signal once more, and when the abort came just then it throws
  // and leaves the connection open with nobody holding it: this signal cancels and never throws
  giveUp.signal.throwIfAborted = () => {};
  const onAbort = () => giveUp.abort();
  signal.addEventListener("abort", onAbort, { once: true });
  let late = false;
  // A process that was held up for as long finds its timers due before it has looked at its sockets:
  // the second timer lets it look, and a connection that has long been made is one.
  let timer = setTimeout(() => {
    timer = setTimeout(() => {
      late = true;
      giveUp.abort();
    }, LOOK_MS);
  }, connectMs);
  try {
    const conn = await Deno.connect({
      hostname: endpoint.hostname,
      port: endpoint.port,
      autoSelectFamily: false,
      signal: giveUp.signal,
    });
    if (signal.aborted || late) {
      conn.close();
      return signal.aborted ? aborted() : timedOut(connectMs);
    }
    conn.setNoDelay(true);
    return { kind: "open", socket: conn };
  } catch (error) {
    if (signal.aborted) return aborted();
    if (late) return timedOut(connectMs);
    const code = MEANING[codeOf(error)] ?? "connect_unreachable";
    return { kind: "failed", code, cause: refusedBy(endpoint, error) };
  } finally {
    clearTimeout(timer);
    signal.removeEventListener("abort", onAbort);
  }
}

/** The caller gave up while connecting. */
export function aborted(): Extract<Dialed, { kind: "failed" }> {
  return { kind: "failed", code: "aborted", cause: "aborted while connecting" };
}

/** Nobody answered in `connectMs` milliseconds. */
export function timedOut(connectMs: number): Extract<Dialed, { kind: "failed" }> {
  return { kind: "failed", code: "connect_timeout", cause: `no answer within ${connectMs} ms` };
}

function refusedBy(endpoint: Endpoint, error: unknown): string {
  return `${endpoint.hostname} port ${endpoint.port}: ${causeOf(error)}`;
}

/** A socket as the port wants it. */
export class OpenConn implements Conn {
  readonly #conn: Deno.Conn;
  #open = true;

  constructor(conn: Deno.Conn) {
    this.#conn = conn;
  }

  read(into: Uint8Array<ArrayBuffer>): Promise<number | null> {
    return this.#conn.read(into);
  }

  write(bytes: Uint8Array): Promise<number> {
    return this.#conn.write(bytes);
  }

  close(): void {
    if (!this.#open) return;
    this.#open = false;
    this.#conn.close();
  }
}
