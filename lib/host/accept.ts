/**
 * Accepts TCP connections with this machine's network. `TCP_NODELAY` is set: an event must not wait
 * for the next one.
 *
 * @module
 */

import type { AcceptedConn } from "../intake/asked.ts";
import { type Refusal } from "../core/refusal.ts";
import { listenRefusal, type ListenRefusalCode } from "./listen_refusal.ts";

/** Where and how to accept. */
export interface AcceptOptions {
  /** Literal IP. */
  readonly hostname: string;
  /** 0 lets the operating system choose. */
  readonly port: number;
  /** Lets another process listen there too, for an overlapped restart. */
  readonly reusePort: boolean;
  /** Takes a connection over. */
  readonly take: (conn: AcceptedConn) => void;
  /** Told what accepting failed of; it goes on. */
  readonly onError: (error: unknown) => void;
}

/** A listener whose connections are taken as they come. */
export interface Door {
  readonly kind: "listening";
  readonly port: number;
  /**
   * Waits, at most `mostMs`, for a moment in which the kernel has no connection queued for us: closing the listener
   * would reset it. A timer that fires on time, with nothing accepted meanwhile, says that the event
   * loop has just looked and found nothing. What comes between that look and the close is moved to
   * the other listener by the kernel where net.ipv4.tcp_migrate_req is 1.
   */
  lull(mostMs: number): Promise<void>;
  /** Refuses new connections; what was accepted stays open. */
  close(): void;
}

/** A timer of 1 ms that takes no longer was not held up by anything. */
const ON_TIME_MS = 1.7;

/** Starts to accept, or says why that is not possible. */
export function acceptTcp(options: AcceptOptions): Door | Refusal<ListenRefusalCode> {
  const { hostname, port, reusePort } = options;
  try {
    const listener = Deno.listen(reusePort ? { hostname, port, reusePort } : { hostname, port });
    return new TcpDoor(listener, options);
  } catch (error) {
    return listenRefusal(error, `${hostname} port ${port}`, hostname);
  }
}

class TcpDoor implements Door {
  readonly kind = "listening";
  readonly port: number;
  readonly #listener: Deno.TcpListener;
  readonly #options: AcceptOptions;
  #accepted = 0;
  #closed = false;

  constructor(listener: Deno.TcpListener, options: AcceptOptions) {
    this.#listener = listener;
    this.#options = options;
    this.port = listener.addr.port;
    void this.#accept();
  }

  async lull(mostMs: number): Promise<void> {
    const until = performance.now() + mostMs;
    for (;;) {
      const began = performance.now();
      const accepted = this.#accepted;
      await new Promise<void>((resolve) => setTimeout(resolve, 1));
      const now = performance.now();
      if (accepted === this.#accepted && now - began < ON_TIME_MS) return;
      if (now > until) return;
    }
  }

  close(): void {
    if (this.#closed) return;
    this.#closed = true;
    this.#listener.close();
  }

  async #accept(): Promise<void> {
    while (!this.#closed) {
      try {
        const conn = await this.#listener.accept();
        this.#accepted++;
        try {
          conn.setNoDelay(true);
        } catch {
          conn.close(); // it was reset before we looked at it
          continue;
        }
        this.#options.take(new Accepted(conn));
      } catch (error) {
        if (this.#closed) return;
        // Out of file descriptors, or a client that left at once: neither ends the listener.
        this.#options.onError(error);
        await new Promise<void>((resolve) => setTimeout(resolve, 10));
      }
    }
  }
}

class Accepted implements AcceptedConn {
  readonly #conn: Deno.TcpConn;
  #open = true;

  constructor(conn: Deno.TcpConn) {
    this.#conn = conn;
  }

  read(into: Uint8Array<ArrayBuffer>): Promise<number | null> {
    return this.#conn.read(into);
  }

  write(bytes: Uint8Array): Promise<number> {
    return this.#conn.write(bytes);
  }

  closeWrite(): Promise<void> {
    return this.#conn.closeWrite();
  }

  close(): void {
    if (!this.#open) return;
    this.#open = false;
    this.#conn.close();
  }
}
