/**
 * The data listener: model requests and the list of models.
 *
 * @module
 */

import { isWellFormedRequestId, newId } from "../../lib/core/ids.ts";
import { familyOf, routeOf } from "../../lib/relay/dialect.ts";
import type { FailureCode } from "../../lib/relay/failure.ts";
import type { Core } from "./core.ts";
import { Exchange } from "./exchange.ts";
import { messageOf } from "./exchange_messages.ts";
import { modelAnswer } from "./models.ts";
import { errorResponse, preflight } from "./response.ts";
import { targetOf } from "../../lib/core/target.ts";

/** Answers one request on the data listener. */
export function handleData(core: Core, request: Request): Response | Promise<Response> {
  const { path, query } = targetOf(request.url);
  if (request.method === "OPTIONS") return preflight();
  const route = routeOf(path);
  if (route !== null) {
    return request.method === "POST"
      ? new Exchange(core, request, route, query).respond()
      : refuse(core, request, path, "method_not_allowed", "this path takes POST");
  }
  if (path === "/v1/models" || path.startsWith("/v1/models/")) {
    if (request.method !== "GET") {
      return refuse(core, request, path, "method_not_allowed", "this path takes GET");
    }
    const proven = core.roster === null
      ? core.loopback
      : core.roster().authenticate(request.headers, core.ports.clock.now());
    if (proven.kind === "missing") return refuse(core, request, path, "token_missing");
    if (proven.kind === "unknown") return refuse(core, request, path, "token_unknown");
    if (!proven.principal.scopes.has("infer")) return refuse(core, request, path, "scope_missing");
    const listed = modelAnswer(core.config, path, request.headers, core.startedAt);
    if (listed === null) return refuse(core, request, path, "alias_unknown");
    listed.headers.set("x-request-id", requestIdOf(core, request));
    return listed;
  }
  return refuse(core, request, path, "route_unknown", "there is nothing at this path");
}

function refuse(
  core: Core,
  request: Request,
  path: string,
  code: FailureCode,
  message: string = messageOf(code),
): Response {
  return errorResponse(code, {
    family: familyOf(path, request.headers),
    requestId: requestIdOf(core, request),
    message,
  });
}

function requestIdOf(core: Core, request: Request): string {
  const sent = request.headers.get("x-request-id");
  return sent !== null && isWellFormedRequestId(sent) ? sent : newId("ex", core.ports.random);
}
