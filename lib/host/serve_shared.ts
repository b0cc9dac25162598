/**
 * A server that shares its port with the next process (SO_REUSEPORT) and leaves without losing a
 * request.
 *
 *     serving ──leave──> listener closed: new connections reach the next process alone
 *                        answers say `connection: close`, kept connections move over with their next
 *             ──grace──> what still idles is closed; what is answered goes on to its end
 *
 * `Deno.serve` cannot do this: its shutdown closes the listener and, in the same moment, every
 * connection that was accepted and has not sent its first byte yet (measured: about one restart in
 * two lost a request at 100 requests/s). So connections are accepted here and handed to the same
 * native server one by one, through a door that the runtime keeps for its own use: it is looked for
 * at start, and without it the port cannot be shared.
 *
 * @module
 */

/** What one connection's server lets us do. */
interface ConnectionServer {
  readonly finished: Promise<void>;
  shutdown(): Promise<void>;
}

type Handler = (request: Request) => Response | Promise<Response>;

type ServeConnection = (
  connection: Deno.Conn,
  signal: AbortSignal | undefined,
  handler: Handler,
  onError: (error: unknown) => Response,
  onListen: () => void,
) => ConnectionServer;

/** How long connections that were accepted may take to send their request, in milliseconds. */
export const GRACE_MS = 2000;

/** A timer of 1 ms that takes no longer was not held up by anything. */
const ON_TIME_MS = 1.7;

/** How long a quiet moment is waited for, in milliseconds. */
const MOST_QUIET_MS = 1000;

/** The runtime's own door; null when this runtime has none. */
export function connectionServer(): ServeConnection | null {
  const { internal } = Deno as unknown as { readonly internal: symbol };
  const doors = (Deno as unknown as Record<symbol, Record<string, unknown> | undefined>)[internal];
  const door = doors?.["serveHttpOnConnection"];
  return typeof door === "function" ? door as ServeConnection : null;
}

/** Accepts on a listener and serves what it accepts. */
export class SharedServer {
  readonly #listener: Deno.TcpListener;
  readonly #serve: ServeConnection;
  readonly #handler: Handler;
  readonly #onError: (error: unknown) => void;
  readonly #servers = new Set<ConnectionServer>();
  readonly #accepting: Promise<void>;
  #accepted = 0;
  #leaving = false;
  #closed = false;

  constructor(
    listener: Deno.TcpListener,
    serve: ServeConnection,
    handler: Handler,
    onError: (error: unknown) => void,
  ) {
    this.#listener = listener;
    this.#serve = serve;
    this.#handler = handler;
    this.#onError = onError;
    this.#accepting = this.#accept();
  }

  /** Leaves as the diagram above has it; resolves when the last response has ended. No bound. */
  async shutdown(): Promise<void> {
    this.#leaving = true;
    await this.#quiet();
    this.#closed = true;
    this.#listener.close();
    await this.#accepting;
    await new Promise<void>((resolve) => setTimeout(resolve, GRACE_MS));
    await Promise.all([...this.#servers].map((server) => server.shutdown()));
  }

  /**
   * Waits for a moment in which the kernel has no connection queued for us: closing the listener would
   * reset it. A timer that fires on time, with nothing accepted meanwhile, says that the event loop
   * has just looked and found nothing. What comes between that look and the close is moved by the
   * kernel where net.ipv4.tcp_migrate_req is 1.
   */
  async #quiet(): Promise<void> {
    const until = performance.now() + MOST_QUIET_MS;
    for (;;) {
      const began = performance.now();
      const accepted = this.#accepted;
      await new Promise<void>((resolve) => setTimeout(resolve, 1));
      const now = performance.now();
      if (accepted === this.#accepted && now - began < ON_TIME_MS) return;
      if (now > until) return;
    }
  }

  async #accept(): Promise<void> {
    while (!this.#closed) {
      let connection: Deno.TcpConn;
      try {
        connection = await this.#listener.accept();
      } catch (error) {
        if (this.#closed) return;
        // Out of file descriptors, or a client that left at once: neither ends the server.
        this.#onError(error);
        await new Promise<void>((resolve) => setTimeout(resolve, 10));
        continue;
      }
      this.#accepted++;
      this.#take(connection);
    }
  }

  #take(connection: Deno.TcpConn): void {
    connection.setNoDelay(true);
    const server = this.#serve(
      connection,
      undefined,
      (request) => this.#leaving ? this.#last(request) : this.#handler(request),
      (error) => {
        this.#onError(error);
        return new Response(null, { status: 500 });
      },
      () => {},
    );
    this.#servers.add(server);
    server.finished.catch(this.#onError).finally(() => this.#servers.delete(server));
  }

  /** An answer on a connection that takes no further request. */
  async #last(request: Request): Promise<Response> {
    const response = await this.#handler(request);
    response.headers.set("connection", "close");
    return response;
  }
}
