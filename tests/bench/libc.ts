/**
 * The few libc calls the load and the upstream are made of. Both are single synchronous epoll loops:
 * promises and garbage of a runtime in the measuring instrument would be measured as the relay's.
 * CLOCK_MONOTONIC is one clock for every process of the machine, so one-way times need no estimate.
 * Linux only; x86-64 and arm64.
 *
 * @module
 */

// Lengths are declared u32, not size_t: a 64-bit argument would be a bigint, off the fast call path.
const SYMBOLS = {
  socket: { parameters: ["i32", "i32", "i32"], result: "i32" },
  bind: { parameters: ["i32", "buffer", "u32"], result: "i32" },
  listen: { parameters: ["i32", "i32"], result: "i32" },
  accept4: { parameters: ["i32", "pointer", "pointer", "i32"], result: "i32" },
  connect: { parameters: ["i32", "buffer", "u32"], result: "i32" },
  getsockname: { parameters: ["i32", "buffer", "buffer"], result: "i32" },
  setsockopt: { parameters: ["i32", "i32", "i32", "buffer", "u32"], result: "i32" },
  fcntl: { parameters: ["i32", "i32", "i32"], result: "i32" },
  recv: { parameters: ["i32", "buffer", "u32", "i32"], result: "i32" },
  send: { parameters: ["i32", "buffer", "u32", "i32"], result: "i32" },
  close: { parameters: ["i32"], result: "i32" },
  epoll_create1: { parameters: ["i32"], result: "i32" },
  epoll_ctl: { parameters: ["i32", "i32", "i32", "buffer"], result: "i32" },
  epoll_wait: { parameters: ["i32", "buffer", "i32", "i32"], result: "i32" },
  clock_gettime: { parameters: ["i32", "buffer"], result: "i32" },
} as const;

/** libc, typed. */
export const libc = Deno.dlopen("libc.so.6", SYMBOLS).symbols;

/** Bits of `epoll_event.events`. */
export const EPOLL = { in: 0x1, out: 0x4, error: 0x8, hangup: 0x10 } as const;
const CTL = { add: 1, remove: 2, modify: 3 } as const;

// The kernel packs epoll_event on x86-64 and nowhere else.
const packed = Deno.build.arch === "x86_64";
/** Bytes of one `epoll_event`. */
export const EVENT_SIZE = packed ? 12 : 16;
const FD_AT = packed ? 4 : 8;

const AF_INET = 2;
const SOCK_STREAM = 1;
const SOCK_NONBLOCK = 0o4000;
const SOCK_CLOEXEC = 0o2000000;
const F_SETFL = 4;
const CLOCK_MONOTONIC = 1;
const ONE = new Int32Array([1]);

const instant = new BigInt64Array(2);
const instantView = new DataView(instant.buffer);

/** Microseconds on CLOCK_MONOTONIC, with the fraction; the same for every process of the machine. */
export function monotonicMicros(): number {
  libc.clock_gettime(CLOCK_MONOTONIC, instant);
  return instantView.getUint32(0, true) * 1e6 + instantView.getUint32(8, true) / 1e3;
}

/** A `sockaddr_in` for 127.0.0.1. */
function loopback(port: number): Uint8Array<ArrayBuffer> {
  const address = new Uint8Array(16);
  new DataView(address.buffer).setUint16(0, AF_INET, true);
  address.set([port >> 8, port & 255, 127, 0, 0, 1], 2);
  return address;
}

function noDelay(fd: number): void {
  libc.setsockopt(fd, 6, 1, ONE, 4);
}

/** A listening, non-blocking socket on 127.0.0.1. */
export function openListener(): { readonly fd: number; readonly port: number } {
  const fd = libc.socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (fd < 0 || libc.bind(fd, loopback(0), 16) !== 0 || libc.listen(fd, 4096) !== 0) {
    throw new Error("the bench upstream could not listen on 127.0.0.1");
  }
  const name = new Uint8Array(16);
  libc.getsockname(fd, name, new Uint32Array([16]));
  return { fd, port: ((name[2] ?? 0) << 8) | (name[3] ?? 0) };
}

/** The next waiting connection, non-blocking; negative when there is none. */
export function acceptOne(listener: number): number {
  const fd = libc.accept4(listener, null, null, SOCK_NONBLOCK | SOCK_CLOEXEC);
  if (fd >= 0) noDelay(fd);
  return fd;
}

/** A connection to 127.0.0.1, non-blocking once it stands; negative when refused. */
export function connectTo(port: number): number {
  const fd = libc.socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (fd < 0) return -1;
  if (libc.connect(fd, loopback(port), 16) !== 0) {
    libc.close(fd);
    return -1;
  }
  libc.fcntl(fd, F_SETFL, SOCK_NONBLOCK);
  noDelay(fd);
  return fd;
}

const control = new Uint8Array(16);
const controlView = new DataView(control.buffer);

/** Starts, changes or (mask 0) ends the watch of `fd`. */
export function watch(epoll: number, how: keyof typeof CTL, fd: number, mask: number): void {
  controlView.setUint32(0, mask, true);
  controlView.setInt32(FD_AT, fd, true);
  libc.epoll_ctl(epoll, CTL[how], fd, control);
}

/** The i-th event of a buffer that `epoll_wait` filled. */
export function eventAt(
  events: DataView,
  i: number,
): { readonly fd: number; readonly mask: number } {
  const at = i * EVENT_SIZE;
  return { mask: events.getUint32(at, true), fd: events.getInt32(at + FD_AT, true) };
}
