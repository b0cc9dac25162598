/**
 * The data listener: model requests and the list of models.
 *
 * Only a model request is an exchange and leaves a decision. What is refused before it is one (a
 * head that is not HTTP, an unknown path, a wrong method, a model list without a token) is counted
 * in a metric by its code: anybody can send any number of those, and the decision log is bounded.
 *
 * @module
 */

import { newId, requestIdFrom } from "../../lib/core/ids.ts";
import { targetOf } from "../../lib/core/target.ts";
import type { Asked, Reply } from "../../lib/intake/asked.ts";
import { familyOf, routeOf } from "../../lib/relay/dialect.ts";
import type { FailureCode } from "../../lib/relay/failure.ts";
import type { Core } from "./core.ts";
import { Exchange } from "./exchange.ts";
import { messageOf } from "./exchange_messages.ts";
import { modelAnswer } from "./models.ts";
import { type Answer, errorAnswer, give, preflight, requestIdHeaders } from "./response.ts";

/** Answers one request on the data listener. */
export function handleData(core: Core, asked: Asked, reply: Reply): Promise<void> {
  const { path, query } = targetOf(asked.target);
  if (asked.method === "OPTIONS") return give(reply, preflight());
  const route = routeOf(path);
  if (route === null) return give(reply, other(core, asked, path));
  return asked.method === "POST"
    ? new Exchange(core, asked, reply, route, query).respond()
    : give(reply, refuse(core, asked, path, "method_not_allowed", "this path takes POST"));
}

/** Answers what is no model request. */
function other(core: Core, asked: Asked, path: string): Answer {
  if (path !== "/v1/models" && !path.startsWith("/v1/models/")) {
    return refuse(core, asked, path, "route_unknown", "there is nothing at this path");
  }
  if (asked.method !== "GET" && asked.method !== "HEAD") {
    return refuse(core, asked, path, "method_not_allowed", "this path takes GET");
  }
  const proven = core.authenticate(asked.headers);
  if (proven.kind === "missing") return refuse(core, asked, path, "token_missing");
  if (proven.kind === "unknown") return refuse(core, asked, path, "token_unknown");
  if (!proven.principal.scopes.has("infer")) return refuse(core, asked, path, "scope_missing");
  const listed = modelAnswer(core.config, path, asked.headers, core.startedAt);
  if (listed === null) return refuse(core, asked, path, "alias_unknown");
  const family = familyOf(path, asked.headers);
  const id = requestIdHeaders(family, requestIdOf(core, asked));
  return { ...listed, headers: [...listed.headers, ...id] };
}

function refuse(
  core: Core,
  asked: Asked,
  path: string,
  code: FailureCode,
  message: string = messageOf(code),
): Answer {
  core.ports.turnedAway(code);
  return errorAnswer(code, {
    family: familyOf(path, asked.headers),
    requestId: requestIdOf(core, asked),
    message,
  });
}

function requestIdOf(core: Core, asked: Asked): string {
  return requestIdFrom(asked.headers.get("x-request-id")) ?? newId("ex", core.ports.random);
}
