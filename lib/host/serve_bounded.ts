/**
 * A server for whoever comes: it keeps so many connections and no more, and closes those that do
 * nothing.
 *
 *     accepted ──too many──> closed at once
 *         └── silent, between requests, or not reading on ──idle──> closed, whatever it holds
 *
 * `Deno.serve` bounds neither, and cannot close a connection whose client does not read. Here each
 * connection is handed to the same native server by itself, with a signal of its own, through the
 * door of `connection_door.ts`.
 *
 * @module
 */

import { type Refusal, refuse } from "../core/refusal.ts";
import { type ConnectionServer, connectionServer } from "./connection_door.ts";
import { listenRefusal, type ListenRefusalCode } from "./listen_refusal.ts";
import type { Listening } from "./serve.ts";

/** What an answer may say about its connection. */
export interface ServedConnection {
  /** This answer takes its time: the connection does not idle until the returned function is called. */
  hold(): () => void;
  /** Closes the connection at once: its client does not read on. */
  abort(): void;
}

/** Where and how to listen. */
export interface ServeBoundedOptions {
  /** Literal IP. */
  readonly hostname: string;
  /** 0 lets the operating system choose. */
  readonly port: number;
  readonly connections: number;
  /** Milliseconds a connection may do nothing. */
  readonly idleMs: number;
  readonly handler: (request: Request, connection: ServedConnection) => Promise<Response>;
  /** Told what escaped the handler; the client gets a bare 500. */
  readonly onError: (error: unknown) => void;
  /** Told of each connection that was one too many. */
  readonly onFull: (open: number) => void;
}

/** Starts to listen, or says why that is not possible. */
export function serveBounded(options: ServeBoundedOptions): Listening | Refusal<ListenRefusalCode> {
  const door = connectionServer();
  if (door === null) {
    return refuse(
      "listen_failed",
      "this runtime cannot bound its connections",
      "run the runtime this release is pinned to",
    );
  }
  const { hostname, port, connections, onError, onFull } = options;
  let listener: Deno.TcpListener;
  try {
    listener = Deno.listen({ hostname, port });
  } catch (error) {
    return listenRefusal(error, `${hostname} port ${port}`, hostname);
  }
  const open = new Set<ConnectionServer>();
  let closed = false;
  const take = (connection: Deno.TcpConn) => {
    if (open.size >= connections) {
      connection.close();
      onFull(open.size);
      return;
    }
    connection.setNoDelay(true);
    const idle = new Idle(options.idleMs);
    const server = door(
      connection,
      idle.signal,
      (request) => {
        idle.restart();
        return options.handler(request, idle);
      },
      (error) => {
        onError(error);
        return new Response(null, { status: 500 });
      },
      () => {},
    );
    open.add(server);
    server.finished.catch(onError).finally(() => {
      idle.end();
      open.delete(server);
    });
  };
  const accepting = (async () => {
    while (!closed) {
      try {
        take(await listener.accept());
      } catch (error) {
        if (closed) return;
        // Out of file descriptors, or a client that left at once: neither ends the server.
        onError(error);
        await new Promise<void>((resolve) => setTimeout(resolve, 10));
      }
    }
  })();
  return {
    kind: "listening",
    port: listener.addr.port,
    async shutdown() {
      closed = true;
      listener.close();
      await accepting;
      await Promise.all([...open].map((server) => server.shutdown()));
    },
  };
}

/** The clock of one connection. */
class Idle implements ServedConnection {
  readonly #controller = new AbortController();
  readonly #ms: number;
  #held = 0;
  #over = false;
  #timer: ReturnType<typeof setTimeout> | undefined;

  constructor(ms: number) {
    this.#ms = ms;
    this.restart();
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  restart(): void {
    clearTimeout(this.#timer);
    if (this.#held === 0 && !this.#over) this.#timer = setTimeout(() => this.abort(), this.#ms);
  }

  hold(): () => void {
    this.#held++;
    clearTimeout(this.#timer);
    let once = true;
    return () => {
      if (once) this.#held--;
      once = false;
      this.restart();
    };
  }

  abort(): void {
    // After its end an abort would reach a server that is gone.
    if (!this.#over) this.#controller.abort();
    this.end();
  }

  end(): void {
    this.#over = true;
    clearTimeout(this.#timer);
  }
}
