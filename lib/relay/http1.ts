/**
 * Our own HTTP/1.1 client: one request, one connection, written once, over a `Dial` port.
 *
 *     send ─> idle line or dial ─> write request ┐
 *                                  read head ────┴─> answered ─> body pulled ─> line idle or closed
 *
 * A request goes out while its answer is already being read, so an answer that comes early (a 413
 * in the middle of an upload) is delivered; the line is then closed, not used again. A line goes
 * back to the pool only when the request was written whole, the answer was read whole by `length`,
 * `chunked` or `none`, both sides keep alive, and not one byte follows.
 *
 * @module
 */

import type { Clock } from "../core/clock.ts";
import type { Dial } from "./dial.ts";
import { LineBody } from "./http1_body.ts";
import { findHeadEnd, HEAD_LIMIT, parseHead, type ResponseHead } from "./http1_head.ts";
import { Line } from "./http1_line.ts";
import { type IdleLimits, IdlePool } from "./http1_pool.ts";
import { authority, checkAsk } from "./http1_request.ts";
import { Upload } from "./http1_upload.ts";
import type { SendFailure, Upstream, UpstreamAnswer, UpstreamAsk } from "./upstream.ts";

/** Idle connections per member, and how long; uvicorn closes its side after 5 s. */
const IDLE: IdleLimits = { perEndpoint: 64, idleMs: 3000 };

/** 100, 102 and 103 heads before the final one; nothing here asks for any. */
const MOST_INTERIM = 8;

/** A client over `dial`. `limits` is for tests; the defaults are what the port promises. */
export function http1Upstream(dial: Dial, clock: Clock, limits: IdleLimits = IDLE): Upstream {
  const pool = new IdlePool(clock, limits);
  let closed = false;

  async function send(ask: UpstreamAsk): Promise<UpstreamAnswer> {
    checkAsk(ask);
    const key = authority(ask.endpoint);
    if (closed) return unsent(ask, "aborted", "this client is closed");
    if (ask.signal.aborted) return unsent(ask, "aborted", "aborted before it began");
    const idle = pool.take(key);
    if (idle !== null) return exchange(ask, idle, true, () => pool.put(key, idle));
    const dialed = await dial(ask.endpoint, ask);
    if (dialed.kind === "failed") return unsent(ask, dialed.code, dialed.cause);
    if (closed || ask.signal.aborted) {
      dialed.conn.close();
      return unsent(ask, "aborted", "aborted while connecting");
    }
    const line = new Line(dialed.conn);
    return exchange(ask, line, false, () => pool.put(key, line));
  }

  return {
    send,
    close(): void {
      closed = true;
      pool.close();
    },
  };
}

function unsent(ask: UpstreamAsk, code: SendFailure, cause: string): UpstreamAnswer {
  if (ask.body.kind === "stream") ask.body.stream.cancel().catch(() => {});
  return { kind: "failed", code, sent: "no", cause };
}

/** Writes `ask` to `line` and reads the head. `keep` takes the line back when it is fit for more. */
async function exchange(
  ask: UpstreamAsk,
  line: Line,
  reused: boolean,
  keep: () => void,
): Promise<UpstreamAnswer> {
  let aborted = false;
  let body: LineBody | null = null;
  const onAbort = () => {
    aborted = true;
    if (body === null) line.close();
    else body.abort("the signal was aborted");
  };
  ask.signal.addEventListener("abort", onAbort, { once: true });
  const upload = new Upload(line.conn, ask, () => line.close());

  const got = await readHead(line);
  if ("code" in got) {
    ask.signal.removeEventListener("abort", onAbort);
    upload.stop();
    line.close();
    const sent = upload.unsent ? "no" : "unknown";
    if (aborted) return { kind: "failed", code: "aborted", sent, cause: "the signal was aborted" };
    if (upload.bodyFailure !== null) {
      return { kind: "failed", code: "body_failed", sent, cause: upload.bodyFailure };
    }
    return { kind: "failed", code: got.code, sent, cause: got.cause };
  }

  if (!upload.complete) upload.stop();
  const { status, headers, framing, keepAlive } = got;
  body = new LineBody(line, framing, (clean) => {
    ask.signal.removeEventListener("abort", onAbort);
    if (clean && keepAlive && upload.complete) keep();
    else {
      upload.stop();
      line.close();
    }
  });
  return { kind: "answered", status, headers, body, reused };
}

interface NoHead {
  readonly code: "closed_before_head" | "malformed_head";
  readonly cause: string;
}

/** Reads up to and including the final head; what follows it stays in the line's buffer. */
async function readHead(line: Line): Promise<ResponseHead | NoHead> {
  const search = { line: 0, lines: 0, at: 0 };
  for (let interim = 0;;) {
    const end = findHeadEnd(line.buffer, line.end, search);
    if (typeof end === "string") return { code: "malformed_head", cause: end };
    if (end < 0) {
      if (line.end >= HEAD_LIMIT) return { code: "malformed_head", cause: "over 64 KiB of head" };
      const got = await line.fill();
      if (typeof got === "number") continue;
      const cause = got === null ? `FIN after ${line.end} bytes` : got.cause;
      return { code: "closed_before_head", cause };
    }
    const parsed = parseHead(line.buffer, line.start, end);
    line.start = end;
    if (parsed.kind === "head") return parsed.head;
    if (parsed.kind === "malformed") return { code: "malformed_head", cause: parsed.cause };
    if (++interim > MOST_INTERIM) {
      return { code: "malformed_head", cause: "too many interim heads" };
    }
    search.lines = 0;
  }
}
