/**
 * What a client is told, where that does not depend on what it sent.
 *
 * @module
 */

import type { FailureCode } from "../../lib/relay/failure.ts";

/** Sentences for codes whose message does not depend on the request. */
const MESSAGES: { readonly [code in FailureCode]?: string } = {
  token_missing: "send a client token as `Authorization: Bearer …` or `x-api-key`",
  token_unknown: "this client token is not known here, or has expired",
  scope_missing: "this client token has no `infer` scope",
  router_draining: "the router is stopping; try again shortly",
  router_saturated: "the router has as many requests open as it takes; try again shortly",
  alias_unknown: "no model of that name is served here; GET /v1/models lists those that are",
  queue_full: "this model's queue is full; try again later",
  queue_timeout: "this model stayed busy for the whole time a request may wait; try again later",
  tier_quiesced: "this model takes no new requests right now: an operator quiesced it",
  tier_not_ready: "no member that serves this model is ready right now",
  body_too_slow: "the request body did not arrive in time",
  upstream_unreachable: "not sent: nothing took the connection where this model is served",
  upstream_closed:
    "the model server closed the connection before it answered; it may have acted on the request",
  upstream_malformed: "the model server's answer is not HTTP that this router understands",
  upstream_first_byte_timeout:
    "the model server sent nothing in time; it may have acted on the request",
  upstream_idle_timeout: "the model server fell silent in the middle of its answer",
  upstream_truncated: "the model server's answer ended before it was complete",
  client_stalled: "the client stopped reading its answer",
  router_error: "the router failed in a way nobody foresaw; its log says more",
  router_stopped: "the router stopped before the answer was complete",
};

/** The sentence that goes with `code`. */
export function messageOf(code: FailureCode): string {
  return MESSAGES[code] ?? code;
}
