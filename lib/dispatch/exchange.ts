/**
 * One request to one agent and its whole answer, bounded in size and time; sent once.
 *
 * @module
 */

import type { Clock } from "../core/clock.ts";
import type {
  Endpoint,
  HeaderList,
  SendFailure,
  Upstream,
  UpstreamBody,
} from "../relay/upstream.ts";

/** One request. */
export interface Asked {
  readonly endpoint: Endpoint;
  readonly method: "GET" | "POST";
  readonly target: string;
  readonly headers: HeaderList;
  readonly body: UpstreamBody;
}

/** What it may take. */
export interface ExchangeLimits {
  /** For a new connection, in milliseconds. */
  readonly connectMs: number;
  /** For the whole, in milliseconds. */
  readonly deadlineMs: number;
  /** Of the answer's body. */
  readonly mostBytes: number;
}

/** Why there is no whole answer. */
export type ExchangeFailure =
  | Exclude<SendFailure, "aborted" | "body_failed">
  | "late" // the deadline
  | "interrupted" // whoever asked does not want it any more
  | "truncated" // the answer broke off
  | "too_large"; // the answer goes on beyond the bound

/** A whole answer, or why there is none. */
export type Exchanged =
  | {
    readonly kind: "answered";
    readonly status: number;
    /** By name in lower case; of a repeated one the first. */
    readonly headers: ReadonlyMap<string, string>;
    readonly bytes: Uint8Array;
  }
  | {
    readonly kind: "failed";
    readonly code: ExchangeFailure;
    /** `no` only with proof. */
    readonly sent: "no" | "unknown";
  };

/** Asks, and reads the answer to its end. `signal` ends it at once. */
export async function exchange(
  { upstream, clock }: { readonly upstream: Upstream; readonly clock: Clock },
  asked: Asked,
  { connectMs, deadlineMs, mostBytes }: ExchangeLimits,
  signal: AbortSignal,
): Promise<Exchanged> {
  const controller = new AbortController();
  const over = new AbortController();
  let cut: "late" | "interrupted" | null = null;
  const end = (why: "late" | "interrupted") => {
    cut ??= why;
    controller.abort();
  };
  if (signal.aborted) return { kind: "failed", code: "interrupted", sent: "no" };
  const onAbort = () => end("interrupted");
  signal.addEventListener("abort", onAbort, { once: true });
  clock.sleep(deadlineMs, over.signal).then(() => end("late"), () => {});
  const failed = (code: ExchangeFailure, sent: "no" | "unknown"): Exchanged => ({
    kind: "failed",
    code: cut ?? code,
    sent,
  });
  try {
    const answer = await upstream.send({ ...asked, connectMs, signal: controller.signal });
    if (answer.kind === "failed") {
      const { code, sent } = answer;
      // A body of bytes cannot fail; `aborted` has its reason in `cut`.
      return failed(code === "aborted" || code === "body_failed" ? "interrupted" : code, sent);
    }
    const chunks: Uint8Array[] = [];
    let size = 0;
    for (;;) {
      const read = await answer.body.read(new Uint8Array(READ_BYTES));
      if (read.kind === "end") break;
      if (read.kind === "broken") return failed("truncated", "unknown");
      size += read.bytes.length;
      if (size > mostBytes) {
        answer.body.cancel();
        return failed("too_large", "unknown");
      }
      chunks.push(read.bytes.slice());
    }
    // Closed without a length is an end that nobody promised: a cut answer looks the same.
    if (answer.body.framing === "close") return failed("truncated", "unknown");
    const headers = new Map(answer.headers.toReversed());
    return { kind: "answered", status: answer.status, headers, bytes: joined(chunks, size) };
  } finally {
    over.abort(OVER);
    signal.removeEventListener("abort", onAbort);
  }
}

const READ_BYTES = 8 * 1024;

/** Nobody looks at it; without one an error with its stack is made for every exchange. */
const OVER = "over";

function joined(chunks: readonly Uint8Array[], size: number): Uint8Array {
  const bytes = new Uint8Array(size);
  let at = 0;
  for (const chunk of chunks) {
    bytes.set(chunk, at);
    at += chunk.length;
  }
  return bytes;
}
