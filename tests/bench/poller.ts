/**
 * Connections on one epoll loop. Nothing here is asynchronous: the owner calls `poll` until it is done.
 *
 * @module
 */

import {
  acceptOne,
  connectTo,
  EPOLL,
  EVENT_SIZE,
  eventAt,
  libc,
  openListener,
  watch,
} from "./libc.ts";

const MSG_NOSIGNAL = 0x4000;
const EVENTS = 512;

/** What the owner of a connection is told. */
export interface Listener {
  /** `length` bytes at the start of `buffer`, which is reused after the call. */
  received(buffer: Uint8Array, length: number): void;
  /** The other side closed or reset; not called after our own `close`. */
  ended(): void;
  /** The socket takes bytes again, after `write` took less than it was given. */
  writable?(): void;
}

/** One socket. */
export class Connection {
  listener: Listener | null = null;
  alive = true;
  #backlog: Uint8Array<ArrayBuffer> | null = null;

  constructor(readonly fd: number, private readonly poller: Poller) {}

  /** Sends all of it, now or as the socket takes it; the bytes may be reused after the call. */
  send(bytes: Uint8Array<ArrayBuffer>): void {
    if (!this.alive) return;
    if (this.#backlog !== null) {
      const joined = new Uint8Array(this.#backlog.length + bytes.length);
      joined.set(this.#backlog);
      joined.set(bytes, this.#backlog.length);
      this.#backlog = joined;
      return;
    }
    const sent = this.write(bytes, 0);
    if (sent < bytes.length) this.#backlog = bytes.slice(sent);
  }

  /** One `send(2)` from `from` on: how many bytes it took. Less than all: `writable` will be told. */
  write(bytes: Uint8Array<ArrayBuffer>, from: number): number {
    const rest = from === 0 ? bytes : bytes.subarray(from);
    const sent = Math.max(0, libc.send(this.fd, rest, rest.length, MSG_NOSIGNAL));
    if (sent < rest.length) watch(this.poller.epoll, "modify", this.fd, EPOLL.in | EPOLL.out);
    return sent;
  }

  /** Called by the poller: the socket has room. */
  flush(): void {
    watch(this.poller.epoll, "modify", this.fd, EPOLL.in);
    const backlog = this.#backlog;
    if (backlog === null) {
      this.listener?.writable?.();
      return;
    }
    this.#backlog = null;
    this.send(backlog);
  }

  close(): void {
    if (!this.alive) return;
    this.alive = false;
    this.poller.forget(this.fd);
    libc.close(this.fd);
  }
}

/** The loop. */
export class Poller {
  readonly epoll = libc.epoll_create1(0);
  readonly #connections = new Map<number, Connection>();
  readonly #accepts = new Map<number, (connection: Connection) => void>();
  readonly #hangups = new Map<number, () => void>();
  readonly #events = new Uint8Array(EVENTS * EVENT_SIZE);
  readonly #view = new DataView(this.#events.buffer);
  readonly #bytes = new Uint8Array(256 * 1024);

  /** Listens on a free port of 127.0.0.1 and returns it. */
  listen(accepted: (connection: Connection) => void): number {
    const { fd, port } = openListener();
    this.#accepts.set(fd, accepted);
    watch(this.epoll, "add", fd, EPOLL.in);
    return port;
  }

  /** Connects at once; null when refused. */
  connect(port: number): Connection | null {
    const fd = connectTo(port);
    return fd < 0 ? null : this.#adopt(fd);
  }

  /** Tells when a pipe's other end is gone, which is how a child learns that its parent died. */
  onHangup(fd: number, gone: () => void): void {
    this.#hangups.set(fd, gone);
    watch(this.epoll, "add", fd, EPOLL.hangup);
  }

  forget(fd: number): void {
    watch(this.epoll, "remove", fd, 0);
    this.#connections.delete(fd);
  }

  /** Waits at most `ms` for anything to happen and deals with it. */
  poll(ms: number): void {
    const count = libc.epoll_wait(this.epoll, this.#events, EVENTS, ms);
    for (let i = 0; i < count; i++) {
      const { fd, mask } = eventAt(this.#view, i);
      const connection = this.#connections.get(fd);
      if (connection === undefined) this.#other(fd);
      else this.#serve(connection, mask);
    }
  }

  #adopt(fd: number): Connection {
    const connection = new Connection(fd, this);
    this.#connections.set(fd, connection);
    watch(this.epoll, "add", fd, EPOLL.in);
    return connection;
  }

  #other(fd: number): void {
    this.#hangups.get(fd)?.();
    const accepted = this.#accepts.get(fd);
    if (accepted === undefined) return;
    for (let next = acceptOne(fd); next >= 0; next = acceptOne(fd)) accepted(this.#adopt(next));
  }

  #serve(connection: Connection, mask: number): void {
    if ((mask & EPOLL.out) !== 0 && (mask & EPOLL.error) === 0) connection.flush();
    if ((mask & (EPOLL.in | EPOLL.error | EPOLL.hangup)) === 0 || !connection.alive) return;
    const length = libc.recv(connection.fd, this.#bytes, this.#bytes.length, 0);
    if (length > 0) {
      connection.listener?.received(this.#bytes, length);
    } else if (length === 0 || (mask & (EPOLL.error | EPOLL.hangup)) !== 0) {
      connection.close();
      connection.listener?.ended();
    }
  }
}
