/**
 * Every way a request ends other than well: one row each. The row decides the status a client
 * sees, the word in its dialect, and the outcome in the record.
 *
 * @module
 */

import type { Family } from "./dialect.ts";

/** How an exchange ended: the closed set of the decision record. */
export type Outcome =
  | "completed"
  | "completed_unverified" // relayed; encoded or without framing, so nothing proves that it was whole
  | "client_closed"
  | "client_stalled" // it stopped reading for longer than it may
  | "refused_auth"
  | "refused_route"
  | "refused_request"
  | "refused_busy"
  | "refused_unavailable"
  | "upstream_status" // the member answered with an error status, passed through
  | "upstream_error" // the member reported an error inside its stream, passed through
  | "upstream_unreachable"
  | "upstream_closed"
  | "upstream_malformed"
  | "upstream_timeout"
  | "upstream_truncated"
  | "router_stopped"
  | "router_error"; // a bug of ours; the log has it

/** A row of {@link FAILURES}. */
interface Failure {
  readonly status: number;
  readonly outcome: Outcome;
  /** OpenAI's `error.type`. */
  readonly openai: string;
  /** Anthropic's `error.type`. */
  readonly anthropic: string;
  /** False when the request may have reached a member: a client must not send it again blindly. */
  readonly retryable: boolean;
}

const row = (
  status: number,
  outcome: Outcome,
  openai: string,
  anthropic: string,
  retryable = true,
): Failure => ({ status, outcome, openai, anthropic, retryable });

const INVALID = ["invalid_request_error", "invalid_request_error"] as const;
const BUSY = ["rate_limit_error", "rate_limit_error"] as const;
const UNAVAILABLE = ["service_unavailable", "overloaded_error"] as const;
const UPSTREAM = ["upstream_error", "api_error"] as const;

/** Code -> what it means. A code is stable; clients and runbooks rely on it. */
export const FAILURES = {
  // before a request was understood: the connection ends
  head_malformed: row(400, "refused_request", ...INVALID),
  head_too_large: row(431, "refused_request", ...INVALID),
  head_too_slow: row(408, "refused_request", ...INVALID),
  target_too_long: row(414, "refused_request", ...INVALID),
  framing_ambiguous: row(400, "refused_request", ...INVALID),
  host_invalid: row(400, "refused_request", ...INVALID),
  version_unsupported: row(505, "refused_request", ...INVALID),
  expectation_unsupported: row(417, "refused_request", ...INVALID),
  // before dispatch: nothing left this host
  token_missing: row(401, "refused_auth", "authentication_error", "authentication_error"),
  token_unknown: row(401, "refused_auth", "authentication_error", "authentication_error"),
  scope_missing: row(403, "refused_auth", "permission_error", "permission_error"),
  route_unknown: row(404, "refused_route", "invalid_request_error", "not_found_error"),
  method_not_allowed: row(405, "refused_route", ...INVALID),
  alias_unknown: row(404, "refused_route", "invalid_request_error", "not_found_error"),
  body_not_json: row(400, "refused_request", ...INVALID),
  body_framing_malformed: row(400, "refused_request", ...INVALID),
  body_truncated: row(400, "refused_request", ...INVALID),
  body_not_form: row(400, "refused_request", ...INVALID),
  body_not_object: row(400, "refused_request", ...INVALID),
  body_too_deep: row(400, "refused_request", ...INVALID),
  body_too_large: row(413, "refused_request", "invalid_request_error", "request_too_large"),
  body_too_slow: row(408, "refused_request", ...INVALID),
  content_encoding_unsupported: row(415, "refused_request", ...INVALID),
  content_type_unsupported: row(415, "refused_request", ...INVALID),
  transfer_encoding_unsupported: row(501, "refused_request", ...INVALID),
  duplicate_key: row(400, "refused_request", ...INVALID),
  field_invalid: row(400, "refused_request", ...INVALID),
  model_missing: row(400, "refused_request", ...INVALID),
  model_not_string: row(400, "refused_request", ...INVALID),
  model_too_long: row(400, "refused_request", ...INVALID),
  dialect_unsupported: row(400, "refused_request", ...INVALID),
  tools_unsupported: row(400, "refused_request", ...INVALID),
  media_unsupported: row(400, "refused_request", ...INVALID),
  output_over_limit: row(400, "refused_request", ...INVALID),
  queue_full: row(429, "refused_busy", ...BUSY),
  queue_timeout: row(429, "refused_busy", ...BUSY),
  router_saturated: row(429, "refused_busy", ...BUSY),
  tier_quiesced: row(503, "refused_unavailable", ...UNAVAILABLE),
  tier_not_ready: row(503, "refused_unavailable", ...UNAVAILABLE),
  router_draining: row(503, "refused_unavailable", ...UNAVAILABLE),
  // at dispatch: the member never got a byte
  upstream_unreachable: row(502, "upstream_unreachable", ...UPSTREAM),
  // after dispatch: the member may have acted on it
  upstream_closed: row(502, "upstream_closed", ...UPSTREAM, false),
  upstream_malformed: row(502, "upstream_malformed", ...UPSTREAM, false),
  upstream_first_byte_timeout: row(504, "upstream_timeout", "timeout", "timeout_error", false),
  upstream_idle_timeout: row(504, "upstream_timeout", "timeout", "timeout_error", false),
  upstream_truncated: row(502, "upstream_truncated", ...UPSTREAM, false),
  // about the client: it is not told, its connection breaks
  client_stalled: row(408, "client_stalled", ...INVALID, false),
  router_error: row(500, "router_error", "server_error", "api_error", false),
  router_stopped: row(503, "router_stopped", ...UNAVAILABLE, false),
} as const satisfies Record<string, Failure>;

/** A stable code of {@link FAILURES}. */
export type FailureCode = keyof typeof FAILURES;

/** The row of `code`. */
export function failureOf(code: FailureCode): Failure {
  return FAILURES[code];
}

/** The error body a client of `family` understands, as one line of JSON. */
export function errorBody(family: Family, code: FailureCode, message: string, id: string): string {
  const failure = failureOf(code);
  return family === "anthropic"
    ? JSON.stringify({
      type: "error",
      error: { type: failure.anthropic, message, code },
      request_id: id,
    })
    : JSON.stringify({ error: { message, type: failure.openai, param: null, code } });
}

/**
 * The event that tells a client, inside a stream, that it was cut. `midLine` says that an
 * unfinished line stands before it, which is finished first; a terminator is never forged.
 * `sequence` is the event's number where the dialect counts its events (OpenAI's Responses API), and
 * null elsewhere: that API's error event is flat, and `error` stands in it for libraries that look
 * at nothing else.
 */
export function errorEvent(
  family: Family,
  code: FailureCode,
  message: string,
  id: string,
  midLine: boolean,
  sequence: number | null = null,
): string {
  const body = errorBody(family, code, message, id);
  const counted = sequence === null
    ? body
    : `${
      JSON.stringify({ type: "error", sequence_number: sequence, code, message, param: null })
        .slice(0, -1)
    },${body.slice(1)}`;
  const data = `data: ${counted}\n\n`;
  const event = family === "anthropic" || sequence !== null ? `event: error\n${data}` : data;
  return midLine ? `\n\n${event}` : `\n${event}`;
}
