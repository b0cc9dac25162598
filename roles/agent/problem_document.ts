/**
 * Refusals as RFC 9457 problem documents. The table says which status each code has.
 *
 * @module
 */

import type { Json } from "../../lib/core/canonical_json.ts";
import type { Problem } from "../../lib/core/problem.ts";
import type { Refusal } from "../../lib/core/refusal.ts";
import type { RunView } from "../../lib/operation/run_record.ts";

/** Codes of the agent itself; a code that an operation gives and that is not here is a 422. */
export const STATUSES: { readonly [code: string]: number } = {
  wrong_node: 421,
  node_unasserted: 400,
  host_refused: 403,
  route_unknown: 404,
  method_not_allowed: 405,
  token_missing: 401,
  token_unknown: 401,
  scope_missing: 403,
  operation_unknown: 404,
  run_unknown: 404,
  content_type_wrong: 415,
  body_too_large: 413,
  body_broken: 400,
  json_too_large: 413,
  json_not_utf8: 400,
  json_malformed: 400,
  json_too_deep: 400,
  json_duplicate_key: 400,
  json_number_range: 400,
  input_invalid: 422,
  dry_run_of_read: 400,
  key_required: 428,
  key_malformed: 400,
  key_conflict: 409,
  confirm_required: 428,
  agent_busy: 503,
  agent_stopping: 503,
  audit_unavailable: 503,
  ledger_unavailable: 503,
  operation_running: 409,
  operation_cancelled: 409,
  operation_interrupted: 500,
  operation_failed: 500,
  operation_timed_out: 504,
  caller_left: 408,
  run_not_running: 409,
  router_not_configured: 409,
  plan_stale: 409,
  host_busy: 409,
  change_returned: 409,
  change_unfinished: 409,
  change_interrupted: 500,
  manual_recovery: 500,
  manual_recovery_pending: 409,
  why_missing: 422,
  adopter_unusable: 502,
  adopter_misconfigured: 502,
  adopter_busy: 409,
  adopter_unclear: 500,
  candidates_unknown: 409,
  candidate_refused: 409,
  candidate_rolled_back: 409,
  candidate_failed: 500,
  candidate_manual_recovery: 500,
  benchmark_busy: 409,
  benchmark_unknown: 404,
  benchmark_not_running: 409,
  benchmark_over: 409,
  benchmark_subject_changed: 409,
  benchmark_target_unproven: 409,
  benchmark_router_differs: 409,
  benchmark_cancelled: 409,
  benchmark_deadline: 409,
  benchmark_stopped: 503,
  benchmark_target_lost: 502,
  benchmark_conditions_changed: 409,
  benchmark_not_over: 503,
  benchmark_not_kept: 507,
  benchmark_damaged: 500,
  evidence_unknown: 404,
  router_unreachable: 502,
  router_refused: 502,
  clients_unusable: 503,
  clients_locked: 503,
  client_absent: 404,
  token_absent: 404,
  token_id_taken: 409,
  tokens_full: 409,
  tokens_not_configured: 409,
  scopes_differ: 409,
  scopes_missing: 422,
  scope_not_held: 403,
  would_lock_out: 409,
};

/** What a problem document tells besides the refusal. */
export interface ProblemContext {
  /** False only when it is certain that nothing was changed. */
  readonly mayHaveExecuted: boolean;
  readonly run: RunView | null;
  readonly problems: readonly Problem[];
}

/** For a refusal before anything was begun. */
export const NOT_BEGUN: ProblemContext = { mayHaveExecuted: false, run: null, problems: [] };

/** The document of a refusal. */
export function problemDocument(
  refusal: Refusal,
  { mayHaveExecuted, run, problems }: ProblemContext = NOT_BEGUN,
): { readonly [key: string]: Json } {
  return {
    type: `urn:anvil:problem:${refusal.code}`,
    title: refusal.code.replaceAll("_", " "),
    status: statusOf(refusal),
    detail: refusal.detail,
    code: refusal.code,
    may_have_executed: mayHaveExecuted,
    ...(refusal.nextStep === undefined ? {} : { next_step: refusal.nextStep }),
    ...(run === null ? {} : { run }),
    ...(problems.length === 0
      ? {}
      : { problems: problems.map(({ path, code, message }) => ({ path, code, message })) }),
  };
}

function statusOf({ code }: Refusal): number {
  return STATUSES[code] ?? 422;
}

/** The response of a refusal. */
export function problemResponse(refusal: Refusal, context: ProblemContext = NOT_BEGUN): Response {
  const status = statusOf(refusal);
  const document = problemDocument(refusal, context);
  const headers = new Headers({
    "content-type": "application/problem+json",
    "cache-control": "no-store",
    "x-anvil-code": refusal.code,
  });
  if (status === 401) headers.set("www-authenticate", 'Bearer realm="anvil-agent"');
  if (status === 503) headers.set("retry-after", "1");
  return new Response(`${JSON.stringify(document)}\n`, { status, headers });
}
