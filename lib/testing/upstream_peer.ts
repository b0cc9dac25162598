/**
 * A member made of raw TCP: it says exactly the bytes a script tells it, breaks when told, and
 * counts what it was asked. Over `node:net`, because only that can reset a connection on purpose.
 *
 * @module
 */

import net from "node:net";
import type { Endpoint } from "../relay/upstream.ts";

/** A request as it came over the wire. */
export interface SeenRequest {
  /** Which connection, from 0. */
  readonly connection: number;
  readonly method: string;
  readonly target: string;
  /** In order, names in lower case. */
  readonly headers: readonly (readonly [string, string])[];
  readonly body: Uint8Array;
}

/** What happened to the peer's side of a connection. */
export type PeerEnd = "fin" | "reset";

/** One accepted connection. */
export class PeerConn {
  readonly number: number;
  /** Resolves when the other side closed or reset it. */
  readonly ended: Promise<PeerEnd>;
  readonly #socket: net.Socket;
  readonly #note: (request: SeenRequest) => void;
  #held = new Uint8Array(0);
  #over = false;
  #wake: () => void = () => {};

  constructor(socket: net.Socket, number: number, note: (request: SeenRequest) => void) {
    this.#socket = socket;
    this.#note = note;
    this.number = number;
    const { promise, resolve } = Promise.withResolvers<PeerEnd>();
    this.ended = promise;
    const over = (how: PeerEnd) => {
      this.#over = true;
      resolve(how);
      this.#wake();
    };
    socket.setNoDelay(true);
    socket.on("error", () => over("reset"));
    socket.on("end", () => over("fin"));
    socket.on("close", () => over("reset"));
    socket.on("data", (bytes: Uint8Array) => {
      const joined = new Uint8Array(this.#held.length + bytes.length);
      joined.set(this.#held);
      joined.set(bytes, this.#held.length);
      this.#held = joined;
      this.#wake();
    });
  }

  /** The next whole request, body included; null when the connection ends before it is whole. */
  async request(): Promise<SeenRequest | null> {
    const head = await this.#until(() => {
      const end = endOfHead(this.#held);
      return end < 0 ? null : end;
    });
    if (head === null) return null;
    const lines = new TextDecoder("latin1").decode(this.#held.subarray(0, head - 4)).split("\r\n");
    const [method = "", target = ""] = (lines[0] ?? "").split(" ");
    const headers = lines.slice(1).map((line) => {
      const colon = line.indexOf(":");
      return [line.slice(0, colon).toLowerCase(), line.slice(colon + 1).trim()] as const;
    });
    const size = Number(headers.find(([name]) => name === "content-length")?.[1] ?? "0");
    const whole = await this.#until(() => this.#held.length >= head + size ? head + size : null);
    if (whole === null) return null;
    const request = {
      connection: this.number,
      method,
      target,
      headers,
      body: this.#held.slice(head, whole),
    };
    this.#held = this.#held.slice(whole);
    this.#note(request);
    return request;
  }

  /** Waits for the head of a request and leaves its body unread. */
  async head(): Promise<boolean> {
    const end = await this.#until(() => endOfHead(this.#held) < 0 ? null : 1);
    return end !== null;
  }

  /** Bytes that came and were not taken by `request`. */
  get waiting(): number {
    return this.#held.length;
  }

  /** Resolves when the system took the bytes; false when the connection broke before. */
  write(bytes: Uint8Array | string): Promise<boolean> {
    const { promise, resolve } = Promise.withResolvers<boolean>();
    if (this.#socket.destroyed) resolve(false);
    else this.#socket.write(bytes, (error) => resolve(!error));
    this.ended.then(() => resolve(false));
    return promise;
  }

  /** Stops taking bytes from the system. */
  pause(): void {
    this.#socket.pause();
  }

  /** Says that nothing more comes. */
  fin(): void {
    this.#socket.end();
  }

  /** Resets the connection. */
  reset(): void {
    this.#socket.resetAndDestroy();
  }

  destroy(): void {
    this.#socket.destroy();
  }

  async #until(found: () => number | null): Promise<number | null> {
    for (;;) {
      const value = found();
      if (value !== null) return value;
      if (this.#over) return null;
      const { promise, resolve } = Promise.withResolvers<void>();
      this.#wake = resolve;
      await promise;
    }
  }
}

/** A listening peer. */
export interface Peer {
  readonly endpoint: Endpoint;
  /** Whole requests, in the order they became whole. */
  readonly requests: readonly SeenRequest[];
  readonly connections: readonly PeerConn[];
  close(): Promise<void>;
}

/** Runs `script` for every connection accepted on a fresh loopback port. */
export async function upstreamPeer(script: (conn: PeerConn) => Promise<void>): Promise<Peer> {
  const requests: SeenRequest[] = [];
  const connections: PeerConn[] = [];
  const scripts: Promise<void>[] = [];
  const server = net.createServer({ allowHalfOpen: true }, (socket) => {
    const conn = new PeerConn(socket, connections.length, (seen) => requests.push(seen));
    connections.push(conn);
    scripts.push(script(conn));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as net.AddressInfo;
  return {
    endpoint: { hostname: "127.0.0.1", port },
    requests,
    connections,
    async close(): Promise<void> {
      const closed = new Promise<void>((resolve) => server.close(() => resolve()));
      for (const conn of connections) conn.destroy();
      await Promise.all(scripts);
      await closed;
    },
  };
}

function endOfHead(bytes: Uint8Array): number {
  for (let at = bytes.indexOf(10); at >= 0; at = bytes.indexOf(10, at + 1)) {
    if (bytes[at - 1] === 13 && bytes[at - 2] === 10 && bytes[at - 3] === 13) return at + 1;
  }
  return -1;
}
