/**
 * The upstream port over the runtime's `fetch`: somebody else's parser behind our promises.
 *
 * How it keeps them: every body is a {@link SizedBody}, which `fetch` streams with a
 * `content-length` and never sends again (a string or bytes body it does); bodies come back through
 * a BYOB reader, one read per pull; proxy variables are hidden while the client is made.
 *
 * Where it falls short of `http1Upstream` (each a named capability of the conformance suite):
 * - no connect timeout: the system's own is the only one (about two minutes on Linux), and a wait
 *   that our signal ends is `aborted`, `sent: "unknown"`, even if nothing was connected yet;
 * - a request without a body is sent again by the library when a pooled connection closes on it:
 *   it is for probes only, and a model request always has a body;
 * - `reused` is always false and a broken body is always `truncated`: neither can be told apart;
 * - a connection is often not used again after a chunked answer;
 * - response headers come sorted, duplicates joined with `, `; 99 header lines are too many; a bare
 *   LF ends a line and `content-length: 2, 2` is a length;
 * - request headers come in another order, with `accept`, `accept-language`, `user-agent` added;
 * - ports that browsers block (6000, 6665-6669, 10080, ...) are `connect_unreachable`;
 * - 1xx heads before the final one are skipped without bound.
 *
 * @module
 */

import { MESSAGE_HEADERS } from "../core/message_headers.ts";
import type {
  ByteSource,
  Endpoint,
  HeaderList,
  Read,
  SendFailure,
  Upstream,
  UpstreamAnswer,
  UpstreamAsk,
} from "../relay/upstream.ts";
import { bodyOf, type SizedBody } from "./fetch_upstream_body.ts";

/** Milliseconds an idle connection is kept. */
const IDLE_MS = 3000;

/** What the library reads, from the environment of the process, when a client is made. */
const PROXY_VARIABLES = ["HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY"]
  .flatMap((name) => [name, name.toLowerCase()]);

/** A client over `fetch`. Needs permission to read and write the proxy variables. */
export function fetchUpstream(): Upstream {
  const client = withoutProxies(() =>
    Deno.createHttpClient({ poolIdleTimeout: IDLE_MS, http2: false })
  );
  let closed = false;

  async function send(ask: UpstreamAsk): Promise<UpstreamAnswer> {
    const url = urlOf(ask.endpoint, ask.target);
    const asked = headersOf(ask.headers);
    if (closed || ask.signal.aborted) {
      if (ask.body.kind === "stream") ask.body.stream.cancel().catch(() => {});
      return failed("aborted", "no", closed ? "this client is closed" : "aborted before it began");
    }
    const leash = new AbortController();
    const onAbort = () => leash.abort(ask.signal.reason);
    ask.signal.addEventListener("abort", onAbort, { once: true });
    const letGo = () => ask.signal.removeEventListener("abort", onAbort);
    const body = bodyOf(ask);
    let response: Response;
    try {
      response = await fetch(url, {
        client,
        method: ask.method,
        headers: asked,
        redirect: "manual",
        signal: leash.signal,
        ...(body === null ? {} : { body }),
      });
    } catch (error) {
      letGo();
      body?.abandon();
      return classify(error, body, leash.signal);
    }
    const headers: HeaderList = [...response.headers];
    const framing = framingOf(response, headers);
    if (framing === null) {
      letGo();
      body?.abandon();
      await response.body?.cancel(); // before the abort: an aborted body keeps its resource
      leash.abort();
      return failed("malformed_head", "unknown", `status ${response.status} or its framing`);
    }
    const source = new FetchBody(response, framing, leash, () => {
      letGo();
      body?.abandon();
    });
    return { kind: "answered", status: response.status, headers, body: source, reused: false };
  }

  return {
    send,
    close(): void {
      if (!closed) client.close();
      closed = true;
    },
  };
}

/** Runs `make` with no proxy variable in the environment, and puts them back. */
export function withoutProxies<Made>(make: () => Made): Made {
  const hidden = PROXY_VARIABLES.map((name) => [name, Deno.env.get(name)] as const);
  try {
    for (const [name] of hidden) Deno.env.delete(name);
    return make();
  } finally {
    for (const [name, value] of hidden) if (value !== undefined) Deno.env.set(name, value);
  }
}

/** Throws when `fetch` would ask for another target than ours: a bug of the caller. */
function urlOf({ hostname, port }: Endpoint, target: string): string {
  const host = hostname.includes(":") ? `[${hostname}]` : hostname;
  const url = new URL(`http://${host}:${port}${target}`);
  if (!target.startsWith("/") || url.pathname + url.search !== target) {
    throw new Error("ask: the target is not in normal origin form");
  }
  return url.href;
}

/** The asked headers, and exactly `accept-encoding: identity`, which alone stops decoding. */
function headersOf(asked: HeaderList): Headers {
  const headers = new Headers();
  for (const [name, value] of asked) {
    if (MESSAGE_HEADERS.has(name)) throw new Error(`ask: ${name} is not the caller's to set`);
    headers.append(name, value);
  }
  headers.set("accept-encoding", "identity");
  return headers;
}

/** Null for what the port refuses and `fetch` lets through. */
function framingOf(response: Response, headers: HeaderList): ByteSource["framing"] | null {
  if (response.status < 200 || response.status > 599) return null;
  const named = new Map(headers);
  const coding = named.get("transfer-encoding");
  if (coding !== undefined) {
    if (coding.toLowerCase() !== "chunked" || named.has("content-length")) return null;
    return response.body === null ? "none" : "chunked";
  }
  if (response.body === null) return "none";
  return named.has("content-length") ? "length" : "close";
}

function failed(code: SendFailure, sent: "no" | "unknown", cause: string): UpstreamAnswer {
  return { kind: "failed", code, sent, cause };
}

/** The library tells its errors apart by text only; what no row knows may have been sent. */
function classify(error: unknown, body: SizedBody | null, signal: AbortSignal): UpstreamAnswer {
  const inner = error instanceof Error && error.cause instanceof Error ? error.cause : error;
  const text = inner instanceof Error ? inner.message : String(inner);
  if (signal.aborted) return failed("aborted", "unknown", "the signal was aborted");
  if (text.includes("client error (Connect)")) return failed(connectFailure(text), "no", text);
  if (/Requests to port [0-9]+ are blocked/.test(text)) {
    return failed("connect_unreachable", "no", text);
  }
  if (body !== null && body.failure !== null) return failed("body_failed", "unknown", body.failure);
  const code = /parsed|message head is too large|invalid/.test(text)
    ? "malformed_head"
    : "closed_before_head";
  return failed(code, "unknown", text);
}

function connectFailure(text: string): SendFailure {
  if (/refused|reset/i.test(text)) return "connect_refused";
  return /timed out/i.test(text) ? "connect_timeout" : "connect_unreachable";
}

class FetchBody implements ByteSource {
  readonly framing: ByteSource["framing"];
  readonly #reader: ReadableStreamBYOBReader | null;
  readonly #leash: AbortController;
  readonly #ended: () => void;
  #outcome: Read | null = null;

  constructor(
    response: Response,
    framing: ByteSource["framing"],
    leash: AbortController,
    ended: () => void,
  ) {
    this.framing = framing;
    this.#leash = leash;
    this.#ended = ended;
    this.#reader = response.body?.getReader({ mode: "byob" }) ?? null;
    if (this.#reader === null) this.#end({ kind: "end" });
  }

  get ended(): boolean {
    return this.#outcome?.kind === "end";
  }

  get holds(): boolean {
    return false;
  }

  async read(into: Uint8Array<ArrayBuffer>): Promise<Read> {
    if (this.#outcome !== null) return this.#outcome;
    if (this.#reader === null) throw new Error("read: a body without a reader has ended");
    try {
      // the reader takes the buffer it is given away from its owner
      const { done, value } = await this.#reader.read(new Uint8Array(into.length));
      if (this.#outcome !== null) return this.#outcome;
      if (!done) return { kind: "bytes", bytes: value };
      return this.#end({ kind: "end" });
    } catch (error) {
      const code = this.#leash.signal.aborted ? "aborted" : "truncated";
      this.#leash.abort(); // a broken body keeps its resource otherwise
      return this.#outcome ?? this.#end({ kind: "broken", code, cause: String(error) });
    }
  }

  cancel(): void {
    if (this.#outcome !== null) return;
    this.#end({ kind: "broken", code: "aborted", cause: "cancelled" });
    this.#reader?.cancel().catch(() => {});
    this.#leash.abort();
  }

  #end(outcome: Read): Read {
    this.#outcome = outcome;
    this.#ended();
    return outcome;
  }
}
