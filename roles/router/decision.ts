/**
 * The decision record: one per request, metadata only.
 *
 * @module
 */

import type { Dialect } from "../../lib/relay/dialect.ts";
import type { FailureCode, Outcome } from "../../lib/relay/failure.ts";
import type { Usage } from "../../lib/relay/usage.ts";

/** What is written of one request. Never a prompt, a completion, a header value or a query. */
export type Decision = {
  /** ISO 8601, UTC: when the request arrived. */
  readonly at: string;
  readonly request_id: string;
  /** The client's name; null when it proved none. */
  readonly client: string | null;
  /** Null when the request named no alias there is. */
  readonly alias: string | null;
  readonly tier: string | null;
  readonly member: string | null;
  readonly dialect: Dialect | null;
  /** Whether the answer was a stream of events; null when there was no answer. */
  readonly stream: boolean | null;
  /** Milliseconds in the queue; null when no lease was granted. */
  readonly queue_ms: number | null;
  /** Milliseconds from arrival to the first byte of the member's body; null when there was none. */
  readonly ttft_ms: number | null;
  readonly duration_ms: number;
  /** Body bytes the client sent, and was sent. */
  readonly bytes_in: number;
  readonly bytes_out: number;
  /** As the member stated it. */
  readonly usage: Usage | null;
  /** What the client was answered; null when it left before. */
  readonly status: number | null;
  readonly outcome: Outcome;
  /** The code of a failure; null when there was none. */
  readonly code: FailureCode | null;
  /** 1 when any byte of the request may have reached a member, else 0. Never more than 1. */
  readonly dispatched: 0 | 1;
  /** How often the client's library says it has tried this before. */
  readonly client_retries: number | null;
};
