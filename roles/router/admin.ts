/**
 * The admin listener: answers also while the data listener drains or is saturated.
 *
 * @module
 */

import type { Core } from "./core.ts";
import type { Scope } from "./clients.ts";
import type { Decision } from "./decision.ts";
import { errorResponse } from "./response.ts";
import type { FailureCode } from "../../lib/relay/failure.ts";
import { newId } from "../../lib/core/ids.ts";
import { messageOf } from "./exchange_messages.ts";
import { targetOf } from "./target.ts";
import { timestamp } from "../../lib/core/clock.ts";

/** What the admin listener shows besides the core. */
export interface AdminPorts {
  /** The newest decisions, oldest first. */
  readonly decisions: () => readonly Decision[];
  /** Records the decision log could not keep. */
  readonly decisionsLost: () => number;
  /** What `--version --json` says. */
  readonly version: string;
  /** SHA-256 of the configuration that runs, lower-case hex. */
  readonly configDigest: string;
}

/** Answers one request on the admin listener. */
export function handleAdmin(core: Core, ports: AdminPorts, request: Request): Response {
  const { path, query } = targetOf(request.url);
  const get = request.method === "GET" || request.method === "HEAD";
  switch (path) {
    case "/livez":
      return get ? text(200, "alive\n") : notAllowed(core);
    case "/readyz":
      return get ? readiness(core) : notAllowed(core);
    case "/v1/router/status":
      return guarded(core, request, "observe", () => json(status(core, ports)));
    case "/v1/decisions":
      return guarded(core, request, "observe", () => json(newest(ports, query)));
    default:
      return refuse(core, "route_unknown", "there is nothing at this path");
  }
}

/** Ready: not draining, and at least one tier takes requests. Says no more: it is open. */
function readiness(core: Core): Response {
  if (core.draining) return text(503, "draining\n");
  for (const tier of core.tiers.values()) if (tier.admits) return text(200, "ready\n");
  return text(503, "not ready\n");
}

function status(core: Core, ports: AdminPorts): object {
  return {
    node: core.config.node,
    version: ports.version,
    config_digest: ports.configDigest,
    started_at: timestamp(core.startedAt),
    at: timestamp(core.ports.clock.now()),
    draining: core.draining,
    open: core.open.size,
    buffered_bytes: core.bounds.budget.held,
    decisions_lost: ports.decisionsLost(),
    tiers: [...core.tiers.values()].map((tier) => tier.report()),
    aliases: core.config.aliases,
  };
}

/** `?limit=N` of the newest, at most all that are held. */
function newest(ports: AdminPorts, query: string): object {
  const limit = Number(new URLSearchParams(query).get("limit") ?? 100);
  const count = Number.isInteger(limit) && limit > 0 ? limit : 100;
  return { decisions: ports.decisions().slice(-count), lost: ports.decisionsLost() };
}

function guarded(core: Core, request: Request, scope: Scope, answer: () => Response): Response {
  if (request.method !== "GET") return notAllowed(core);
  const proven = core.roster === null
    ? core.loopback
    : core.roster().authenticate(request.headers, core.ports.clock.now());
  if (proven.kind === "missing") return refuse(core, "token_missing");
  if (proven.kind === "unknown") return refuse(core, "token_unknown");
  if (!proven.principal.scopes.has(scope)) {
    return refuse(core, "scope_missing", `this client token has no \`${scope}\` scope`);
  }
  return answer();
}

function notAllowed(core: Core): Response {
  return refuse(core, "method_not_allowed", "this path takes GET");
}

function refuse(core: Core, code: FailureCode, message: string = messageOf(code)): Response {
  const requestId = newId("ad", core.ports.random);
  return errorResponse(code, { family: "openai", requestId, message });
}

function text(status: number, body: string): Response {
  return new Response(body, { status, headers: { "content-type": "text/plain; charset=utf-8" } });
}

function json(body: object): Response {
  return new Response(`${JSON.stringify(body)}\n`, {
    headers: { "content-type": "application/json", "cache-control": "no-store" },
  });
}
