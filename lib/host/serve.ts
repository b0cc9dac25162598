/**
 * The HTTP server: Deno.serve with the settings that the environment must not change.
 *
 * @module
 */

import { type Refusal, refuse } from "../core/refusal.ts";
import { causeOf } from "./os_error.ts";
import { connectionServer, SharedServer } from "./serve_shared.ts";

/** Where and how to listen. */
export interface ServeOptions {
  /** Literal IP. */
  readonly hostname: string;
  /** 0 lets the operating system choose. */
  readonly port: number;
  /** Lets another process listen there too, for an overlapped restart; see {@link SharedServer}. */
  readonly reusePort?: boolean;
  readonly handler: (request: Request) => Response | Promise<Response>;
  /** Told what escaped the handler; the client gets a bare 500. */
  readonly onError: (error: unknown) => void;
}

/** A server that listens. */
export interface Listening {
  readonly kind: "listening";
  readonly port: number;
  /** Refuses new connections at once; resolves when the last response has ended. Has no bound. */
  shutdown(): Promise<void>;
}

/** Starts to listen, or says why that is not possible. */
export function serve(
  options: ServeOptions,
): Listening | Refusal<ListenFault> {
  const { hostname, port, handler, onError, reusePort = false } = options;
  try {
    if (reusePort) return serveShared(options);
    const server = Deno.serve({
      hostname,
      port,
      // DENO_SERVE_AUTOMATIC_COMPRESSION would buffer and recode streams.
      automaticCompression: false,
      onListen: () => {},
      onError: (error) => {
        onError(error);
        return new Response(null, { status: 500 });
      },
    }, handler);
    return { kind: "listening", port: server.addr.port, shutdown: () => server.shutdown() };
  } catch (error) {
    return whyNotListening(error, hostname, port);
  }
}

/** Why nothing listens there. */
export type ListenFault =
  | "port_in_use"
  | "address_unavailable"
  | "listen_denied"
  | "listen_failed";

/** What an error of listening means. */
export function whyNotListening(
  error: unknown,
  hostname: string,
  port: number,
): Refusal<ListenFault> {
  const at = `${hostname} port ${port}`;
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

function serveShared(options: ServeOptions): Listening | Refusal<"listen_failed"> {
  const { hostname, port, handler, onError } = options;
  const door = connectionServer();
  if (door === null) {
    return refuse(
      "listen_failed",
      "this runtime cannot share a port without losing requests",
      "run the runtime this release is pinned to, or set `reuse_port = false`",
    );
  }
  const listener = Deno.listen({ hostname, port, reusePort: true });
  const server = new SharedServer(listener, door, handler, onError);
  return { kind: "listening", port: listener.addr.port, shutdown: () => server.shutdown() };
}
