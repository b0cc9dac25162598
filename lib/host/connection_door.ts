/**
 * The runtime's own HTTP server for one connection that was accepted elsewhere: a door that the
 * runtime keeps for its own use. It is looked for at start; who needs it refuses without it.
 *
 * @module
 */

/** What one connection's server lets us do. */
export interface ConnectionServer {
  readonly finished: Promise<void>;
  shutdown(): Promise<void>;
}

/** Serves one connection. */
export type ServeConnection = (
  connection: Deno.Conn,
  signal: AbortSignal | undefined,
  handler: (request: Request) => Response | Promise<Response>,
  onError: (error: unknown) => Response,
  onListen: () => void,
) => ConnectionServer;

/** The door; null when this runtime has none. */
export function connectionServer(): ServeConnection | null {
  const { internal } = Deno as unknown as { readonly internal: symbol };
  const doors = (Deno as unknown as Record<symbol, Record<string, unknown> | undefined>)[internal];
  const door = doors?.["serveHttpOnConnection"];
  return typeof door === "function" ? door as ServeConnection : null;
}
