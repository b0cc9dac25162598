/**
 * The data listener at work: connections come through a door, our own server answers them, and it
 * leaves without losing a request.
 *
 *     serving ──leave──> every answer says `connection: close`
 *        port of its own:  door closed in a lull, connections without a request closed
 *        shared port:      door closed in a lull: new connections reach the successor alone; what
 *                          was accepted may go on to send a request; once none has for a while,
 *                          as above
 *
 * @module
 */

import type { Refusal } from "../../lib/core/refusal.ts";
import type { AcceptedConn } from "../../lib/intake/asked.ts";
import { Http1Server } from "../../lib/intake/http1_server.ts";
import { errorBody, failureOf } from "../../lib/relay/failure.ts";
import type { Endpoint } from "../../lib/relay/upstream.ts";
import type { Core } from "./core.ts";
import { handleData } from "./data.ts";

/** A listener whose connections are taken as they come. */
export interface Door {
  readonly kind: "listening";
  readonly port: number;
  /** Resolves in a moment in which no connection waits to be accepted, or after `mostMs`. */
  lull(mostMs: number): Promise<void>;
  /** Refuses new connections; what was accepted stays open. */
  close(): void;
}

/** Opens a door. */
export type Accept = (
  at: Endpoint,
  reusePort: boolean,
  take: (conn: AcceptedConn) => void,
) => Door | Refusal;

/** How long connections to a shared port must have been without a request, in milliseconds. */
const GRACE_MS = 2000;

/** How often that is looked at, in milliseconds. */
const GLANCE_MS = 50;

/** How long a moment is waited for in which no connection waits, in milliseconds. */
const LULL_MS = 1000;
/** As above, where no successor takes what comes: new connections are to be refused soon. */
const OWN_LULL_MS = 50;

/** A client that does not read is the exchange's to judge first; this is for answers of our own. */
const STALL_MARGIN_MS = 5000;

/** The data side's listener. */
export class DataListener {
  readonly #core: Core;
  readonly #server: Http1Server;
  #door: Door | null = null;
  #over = false;

  constructor(core: Core) {
    this.#core = core;
    const { limits } = core.config;
    this.#server = new Http1Server({
      clock: core.ports.clock,
      answer: (asked, reply) => handleData(core, asked, reply),
      refusal: (code, cause) => {
        core.ports.turnedAway(code);
        return { status: failureOf(code).status, body: errorBody("openai", code, cause, "") };
      },
      onBug: core.ports.onBug,
      times: {
        headMs: limits.head_seconds * 1000,
        idleMs: limits.idle_seconds * 1000,
        stallMs: limits.stall_seconds * 1000 + STALL_MARGIN_MS,
      },
    });
  }

  /** The port it is bound to; 0 before it is. */
  get port(): number {
    return this.#door?.port ?? 0;
  }

  /** Starts to accept; null, or why it cannot. */
  open(accept: Accept): Refusal | null {
    const { data, reuse_port } = this.#core.config.listen;
    const door = accept(data, reuse_port, (conn) => this.#server.take(conn));
    if (door.kind === "refused") return door;
    this.#door = door;
    return null;
  }

  /** Ends connections that take too long. */
  sweep(): void {
    this.#server.sweep();
  }

  /** Refuses new connections; resolves when the last one is closed. Has no bound. */
  async shutdown(): Promise<void> {
    const shared = this.#core.config.listen.reuse_port;
    this.#server.leave(shared ? GRACE_MS : 0);
    // What waits to be accepted when the door closes is reset: a client should be refused instead.
    await this.#door?.lull(shared ? LULL_MS : OWN_LULL_MS);
    this.#door?.close();
    if (shared) await this.#quiet();
    this.#server.closeIdle();
    await this.#server.empty();
  }

  /** Waits until no connection has had a request for a while: those left are not in use. */
  async #quiet(): Promise<void> {
    const { clock } = this.#core.ports;
    for (let quietMs = 0; quietMs < GRACE_MS && !this.#over; quietMs += GLANCE_MS) {
      await clock.sleep(GLANCE_MS);
      if (this.#server.busy) quietMs = 0;
    }
  }

  /** Breaks what is still open. */
  abandon(): void {
    this.#over = true;
    this.#door?.close();
    this.#server.abandon();
  }
}
