/**
 * The HTTP server for listeners that need no speed: Deno.serve with the settings that the
 * environment must not change.
 *
 * @module
 */

import type { Refusal } from "../core/refusal.ts";
import { listenRefusal, type ListenRefusalCode } from "./listen_refusal.ts";

/** Where and how to listen. */
export interface ServeOptions {
  /** Literal IP. */
  readonly hostname: string;
  /** 0 lets the operating system choose. */
  readonly port: number;
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
export function serve(options: ServeOptions): Listening | Refusal<ListenRefusalCode> {
  const { hostname, port, handler, onError } = options;
  try {
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
    return listenRefusal(error, `${hostname} port ${port}`, hostname);
  }
}
