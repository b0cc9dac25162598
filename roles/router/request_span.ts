/**
 * A request as a trace shows it, made from its decision: metadata only, as there.
 *
 * @module
 */

import type { RequestSpan } from "./core.ts";
import type { Decision } from "./decision.ts";

/** The span of `decision`, which came to `path` (without its query). */
export function spanOf(decision: Decision, path: string, traceparent: string | null): RequestSpan {
  const startMs = Date.parse(decision.at);
  const told: Readonly<Record<string, string | number | null>> = {
    "http.request.method": "POST",
    "url.path": path,
    "http.response.status_code": decision.status,
    "anvil.request_id": decision.request_id,
    "anvil.client": decision.client,
    "anvil.alias": decision.alias,
    "anvil.tier": decision.tier,
    "anvil.member": decision.member,
    "anvil.outcome": decision.outcome,
    "anvil.code": decision.code,
    "anvil.queue_ms": decision.queue_ms,
    "anvil.ttft_ms": decision.ttft_ms,
  };
  const attributes: Record<string, string | number> = {};
  for (const [name, value] of Object.entries(told)) if (value !== null) attributes[name] = value;
  return {
    name: `POST ${path}`,
    startMs,
    endMs: startMs + decision.duration_ms,
    attributes,
    failed: decision.status === null || decision.status >= 500 || decision.code !== null,
    traceparent,
  };
}
