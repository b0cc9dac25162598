/**
 * The upstream port: one request to one member, sent once.
 *
 * Every implementation passes `lib/testing/upstream_conformance.ts`. What they promise:
 * - a request is written to at most one connection, once; nothing is ever sent again;
 * - `sent: "no"` is said only when no byte of the request can have reached the member;
 * - response bytes come out as they came in: no decoding, no joining, no waiting for more;
 * - a body that ends other than its framing promised is `broken`, never `end`;
 * - aborting the signal, or `cancel`, closes the connection at once;
 * - an idle connection is kept at most 3 s and one that closed meanwhile is never used.
 *
 * @module
 */

/** Where a member listens: a literal IP (IPv6 without brackets) and a port. */
export interface Endpoint {
  readonly hostname: string;
  readonly port: number;
}

/** Names and values as they go over the wire, in order; names in lower case. */
export type HeaderList = readonly (readonly [name: string, value: string])[];

/**
 * What is sent after the head. Always with an exact `content-length`, never chunked. `send` takes a
 * stream over: it is read as far as its size, and cancelled whenever it is not needed any more.
 * A stream that ends short, throws, or holds a chunk that crosses its size is `body_failed`.
 */
export type UpstreamBody =
  | { readonly kind: "none" }
  | { readonly kind: "bytes"; readonly size: number; readonly chunks: readonly Uint8Array[] }
  | { readonly kind: "stream"; readonly size: number; readonly stream: ReadableStream<Uint8Array> };

/**
 * One request. The implementation adds `host` and `content-length` itself. An ask that could change
 * the shape of the message (CR or LF, a hop-by-hop or framing header, a target that is not in
 * origin form, a GET with a body, bytes that are not `size`) is a bug of the caller: `send` rejects.
 */
export interface UpstreamAsk {
  readonly endpoint: Endpoint;
  readonly method: "GET" | "POST";
  /** Origin form: a path, maybe a query; starts with `/`. */
  readonly target: string;
  readonly headers: HeaderList;
  readonly body: UpstreamBody;
  /** How long a new connection may take, in milliseconds. */
  readonly connectMs: number;
  /** Aborting it at any time closes the connection. */
  readonly signal: AbortSignal;
}

/** Why there is no response head. */
export type SendFailure =
  | "connect_refused" // somebody said no: nothing listens there
  | "connect_unreachable" // no route, or the network said no
  | "connect_timeout" // nobody answered within connectMs
  | "connect_tls" // somebody answered, and no TLS session came of it
  | "connect_local" // this machine could not try: permission, descriptors, addresses of its own
  | "closed_before_head" // the member closed, or reset, before a whole response head
  | "malformed_head" // what came back is not an HTTP/1 response head we understand
  | "body_failed" // the request body ended short or threw: the request was never complete
  | "aborted"; // our own signal

/** Why a body is not whole. */
export type BodyFailure =
  | "truncated" // FIN before the framing said so
  | "reset" // the connection broke
  | "malformed" // chunk framing we do not understand
  | "aborted"; // our own signal or cancel

/** A response head, or why there is none. */
export type UpstreamAnswer =
  | {
    readonly kind: "answered";
    readonly status: number;
    readonly headers: HeaderList;
    readonly body: ByteSource;
    /** True when an idle connection served it; false, too, where the implementation cannot tell. */
    readonly reused: boolean;
  }
  | {
    readonly kind: "failed";
    readonly code: SendFailure;
    readonly sent: "no" | "unknown";
    /** For the log; may name an address, so never for a client. */
    readonly cause: string;
  };

/** What one read gave. */
export type Read =
  | { readonly kind: "bytes"; readonly bytes: Uint8Array }
  | { readonly kind: "end" }
  | { readonly kind: "broken"; readonly code: BodyFailure; readonly cause: string };

/** A response body, pulled: nothing is read from the member that was not asked for. */
export interface ByteSource {
  /** How the end is known. After `close` framing an `end` only says that the member closed. */
  readonly framing: "length" | "chunked" | "close" | "none";
  /** True when it is known already that nothing more comes: the next read gives `end` at once. */
  readonly ended: boolean;
  /** True when bytes of it have come that nobody has read: the next read waits for framing at most. */
  readonly holds: boolean;
  /**
   * Waits for at least one byte, and gives what is there now, at most `into.byteLength`. The bytes
   * given may be a view over `into`. One read at a time.
   */
  read(into: Uint8Array<ArrayBuffer>): Promise<Read>;
  /** Closes the connection now. Safe at any time and more than once. */
  cancel(): void;
}

/** Sends requests to members. */
export interface Upstream {
  send(ask: UpstreamAsk): Promise<UpstreamAnswer>;
  /** Closes idle connections; further sends are `aborted`, not sent. What is under way goes on. */
  close(): void;
}
