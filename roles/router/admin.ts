/**
 * The admin listener: answers also while the data listener drains or is saturated.
 *
 * @module
 */

import { timestamp } from "../../lib/core/clock.ts";
import { newId } from "../../lib/core/ids.ts";
import type { FailureCode } from "../../lib/relay/failure.ts";
import type { Scope } from "./clients.ts";
import type { Core } from "./core.ts";
import { type Decisions, HELD } from "./decisions.ts";
import { messageOf } from "./exchange_messages.ts";
import type { Metrics } from "./metrics.ts";
import { paces } from "./pace.ts";
import { errorAnswer } from "./response.ts";
import { targetOf } from "../../lib/core/target.ts";
import { type TransitionRefused, type Transitions, transitionShape } from "./transition.ts";

/** What the admin listener shows and changes besides the core. */
export interface AdminParts {
  readonly decisions: Decisions;
  readonly metrics: Metrics;
  readonly transitions: Transitions;
  /** What `--version` says. */
  readonly version: string;
  /** SHA-256 that names the build; null when it runs from source. */
  readonly buildDigest: string | null;
  /** SHA-256 of the configuration that runs, lower-case hex. */
  readonly configDigest: string;
}

type AdminAnswer = Response | Promise<Response>;

/** One path of the admin listener. */
interface AdminRoute {
  readonly method: "GET" | "POST";
  /** What a token must open; null for what anybody may ask. */
  readonly scope: Scope | null;
  readonly answer: (
    core: Core,
    parts: AdminParts,
    request: Request,
    query: URLSearchParams,
  ) => AdminAnswer;
}

const ROUTES: ReadonlyMap<string, AdminRoute> = new Map<string, AdminRoute>([
  ["/livez", { method: "GET", scope: null, answer: () => text(200, "alive\n") }],
  ["/readyz", { method: "GET", scope: null, answer: (core) => readiness(core) }],
  ["/metrics", { method: "GET", scope: "observe", answer: (_core, parts) => metrics(parts) }],
  ["/v1/router/status", {
    method: "GET",
    scope: "observe",
    answer: (core, parts) => json(200, status(core, parts)),
  }],
  ["/v1/decisions", { method: "GET", scope: "observe", answer: decisions }],
  ["/v1/admin/transition", { method: "POST", scope: "admin", answer: transition }],
]);

/** Answers one request on the admin listener. */
export function handleAdmin(core: Core, parts: AdminParts, request: Request): AdminAnswer {
  const { path, query } = targetOf(request.url);
  const route = ROUTES.get(path);
  if (route === undefined) return refuse(core, "route_unknown", "there is nothing at this path");
  const method = request.method === "HEAD" ? "GET" : request.method;
  if (method !== route.method) {
    return refuse(core, "method_not_allowed", `this path takes ${route.method}`);
  }
  if (route.scope !== null) {
    const proven = core.authenticate(request.headers);
    if (proven.kind === "missing") return refuse(core, "token_missing");
    if (proven.kind === "unknown") return refuse(core, "token_unknown");
    if (!proven.principal.scopes.has(route.scope)) {
      return refuse(core, "scope_missing", `this client token has no \`${route.scope}\` scope`);
    }
  }
  return route.answer(core, parts, request, new URLSearchParams(query));
}

/** Ready: not draining, and at least one tier takes requests. Says no more: it is open. */
function readiness(core: Core): Response {
  if (core.draining) return text(503, "draining\n");
  for (const tier of core.tiers.values()) if (tier.admits) return text(200, "ready\n");
  return text(503, "not ready\n");
}

function status(core: Core, parts: AdminParts): object {
  return {
    node: core.config.node,
    version: parts.version,
    build_digest: parts.buildDigest,
    config_digest: parts.configDigest,
    started_at: timestamp(core.startedAt),
    at: timestamp(core.ports.clock.now()),
    draining: core.draining,
    open: core.open.size,
    buffered_bytes: core.bounds.budget.held,
    decisions_lost: parts.decisions.lost,
    tiers: [...core.tiers.values()].map((tier) => tier.report()),
    paces: paces(parts.decisions.newest(HELD), core.tiers.keys(), core.ports.clock.now()),
    aliases: core.config.aliases,
  };
}

async function metrics({ metrics }: AdminParts): Promise<Response> {
  const { body, contentType } = await metrics.text();
  return new Response(body, { headers: { "content-type": contentType } });
}

/** `?limit=N` of the newest (default 100), or `?follow` for those to come, one line each. */
function decisions(
  core: Core,
  { decisions }: AdminParts,
  _request: Request,
  query: URLSearchParams,
): Response {
  if (query.has("follow")) {
    const lines = decisions.follow();
    return lines === null
      ? refuse(core, "router_saturated", "too many follow the decisions already")
      : new Response(lines, {
        headers: { "content-type": "application/x-ndjson", "cache-control": "no-store" },
      });
  }
  const limit = Number(query.get("limit") ?? 100);
  if (!Number.isInteger(limit) || limit < 1) {
    return refuse(core, "field_invalid", "`limit` is a whole number from 1 on");
  }
  return json(200, { decisions: decisions.newest(limit), lost: decisions.lost });
}

/** Status of a transition that did not come about. */
const TRANSITION_STATUS: { readonly [code in TransitionRefused["code"]]: number } = {
  tier_unknown: 404,
  drain_timeout: 409,
  readmit_refused: 409,
  intent_not_kept: 507,
  router_draining: 503,
};

const MOST_TRANSITION_BYTES = 16 * 1024;

async function transition(
  core: Core,
  { transitions }: AdminParts,
  request: Request,
): Promise<Response> {
  const body = await boundedText(request, MOST_TRANSITION_BYTES);
  if (body === null) return refuse(core, "body_too_large", "a transition is a small JSON object");
  let value: unknown;
  try {
    value = JSON.parse(body);
  } catch {
    return refuse(core, "body_not_json", "the body is not JSON");
  }
  const ask = transitionShape.safeParse(value);
  if (!ask.success) {
    const [issue] = ask.error.issues;
    const where = issue?.path.join(".") || "the body";
    return refuse(core, "field_invalid", `${where}: ${issue?.message ?? "not understood"}`);
  }
  const outcome = await transitions.take(ask.data);
  if (outcome.kind === "observed") {
    const { kind: _kind, ...observed } = outcome;
    return json(200, observed);
  }
  const { code, detail, nextStep, observed } = outcome;
  const error = {
    code,
    message: detail,
    ...(nextStep === undefined ? {} : { next_step: nextStep }),
  };
  return json(TRANSITION_STATUS[code], { error, observed }, [["x-anvil-code", code]]);
}

/** The body as text; null when it is longer than it may be. */
async function boundedText(request: Request, mostBytes: number): Promise<string | null> {
  const decoder = new TextDecoder();
  let text = "";
  let size = 0;
  for await (const bytes of request.body ?? []) {
    size += bytes.length;
    if (size > mostBytes) return null;
    text += decoder.decode(bytes, { stream: true });
  }
  return text + decoder.decode();
}

function refuse(core: Core, code: FailureCode, message: string = messageOf(code)): Response {
  const requestId = newId("ad", core.ports.random);
  const { status, headers, body } = errorAnswer(code, { family: "openai", requestId, message });
  return new Response(body, { status, headers: headers as [string, string][] });
}

function text(status: number, body: string): Response {
  return new Response(body, { status, headers: { "content-type": "text/plain; charset=utf-8" } });
}

function json(status: number, body: object, more: [string, string][] = []): Response {
  return new Response(`${JSON.stringify(body)}\n`, {
    status,
    headers: [["content-type", "application/json"], ["cache-control", "no-store"], ...more],
  });
}
