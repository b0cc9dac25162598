/**
 * The agent's HTTP face: (parts, config) -> (Request) -> Response.
 *
 *     node asserted ─> route ─> method ─> who ─> operation
 *
 * @module
 */

import { z } from "zod";
import { literalIp } from "../../lib/core/address.ts";
import type { Json } from "../../lib/core/canonical_json.ts";
import type { Clock } from "../../lib/core/clock.ts";
import type { Remarks } from "../../lib/core/remarks.ts";
import { refuse } from "../../lib/core/refusal.ts";
import { INPUT_BOUNDS, readJson } from "../../lib/core/strict_json.ts";
import { targetOf } from "../../lib/core/target.ts";
import { checkShape } from "../../lib/document/shape.ts";
import { readBodyBounded } from "../../lib/host/body.ts";
import type { Answer } from "../../lib/operation/answer.ts";
import { authorize } from "../../lib/operation/authorize.ts";
import type { Catalogue } from "../../lib/operation/catalogue.ts";
import type { Ledger } from "../../lib/operation/ledger.ts";
import { jsonShape, OPERATION_NAME } from "../../lib/operation/operation.ts";
import type { Runner } from "../../lib/operation/runner.ts";
import { LOOPBACK, type Principal, type Roster } from "./clients.ts";
import { docsResponse } from "./docs_page.ts";
import { handleMcp } from "./mcp.ts";
import { openApi } from "./openapi.ts";
import { NOT_BEGUN, problemResponse } from "./problem_document.ts";

/** What answers are made of. */
export interface AppParts {
  readonly node: string;
  readonly version: string;
  readonly catalogue: Catalogue;
  readonly runner: Runner;
  readonly ledger: Ledger;
  readonly clock: Clock;
  readonly remarks: Remarks;
  /** The clients known now; null when loopback is trusted. */
  readonly roster: (() => Roster) | null;
  readonly bodyMs: number;
}

const callShape = z.strictObject({
  input: jsonShape.default({}),
  dry_run: z.boolean().default(false),
  confirm: z.boolean().default(false),
});

const RUNS = "/v1/operations/runs/";
const OPERATIONS = "/v1/operations/";
const MCP = "/mcp";

/** Answers one request. */
export async function handle(parts: AppParts, request: Request): Promise<Response> {
  const response = await route(parts, request);
  response.headers.set("x-anvil-node", parts.node);
  return response;
}

async function route(parts: AppParts, request: Request): Promise<Response> {
  const asserted = request.headers.get("x-anvil-node");
  if (asserted !== null && asserted !== parts.node) {
    return no("wrong_node", "this is not the node that was asked for", "check address and node");
  }
  const { path } = targetOf(request.url);
  const posts = path === MCP || (path.startsWith(OPERATIONS) && !path.startsWith(RUNS));
  if (!posts && !GETS.has(path) && !path.startsWith(RUNS)) {
    return no("route_unknown", "there is nothing at this path", "see `GET /openapi.json`");
  }
  const wanted = posts ? "POST" : "GET";
  if (request.method !== wanted && !(wanted === "GET" && request.method === "HEAD")) {
    const response = no("method_not_allowed", `this path takes ${wanted}`);
    response.headers.set("allow", wanted);
    return response;
  }
  if (path === "/livez") return new Response(null, { status: 200 });
  if (path === "/docs") return docsResponse(parts.node, parts.catalogue);
  const principal = whoAsks(parts, request);
  if (principal instanceof Response) return principal;
  if (path === MCP) {
    const body = await jsonOf(parts, request);
    return body instanceof Response ? body : await handleMcp(parts, principal, request, body.value);
  }
  if (posts) return await post(parts, request, principal, path.slice(OPERATIONS.length));
  if (path === "/v1/operations") {
    const { entries, digest } = parts.catalogue;
    return json({ node: parts.node, digest, operations: entries });
  }
  if (path === "/openapi.json") return json(openApi(parts.node, parts.version, parts.catalogue));
  if (path.startsWith(RUNS)) return oneRun(parts, principal, path.slice(RUNS.length));
  const answer = await parts.runner.call({
    principal: principal.name,
    scopes: principal.scopes,
    operation: "node.health",
    input: {},
    dryRun: false,
    confirm: false,
    key: null,
    signal: request.signal,
  });
  return answer.kind === "done" ? json(answer.result) : problemResponse(answer, answer);
}

const GETS: ReadonlySet<string> = new Set([
  ...["/livez", "/docs", "/health", "/v1/operations", "/openapi.json"],
]);

function whoAsks(parts: AppParts, request: Request): Principal | Response {
  if (parts.roster === null) {
    // A page in a browser can make its own name point at loopback; it cannot choose the Host.
    const host = /^(?:\[([^\]]*)\]|([^:]*))(?::\d+)?$/.exec(request.headers.get("host") ?? "");
    const named = host?.[1] ?? host?.[2] ?? "";
    return literalIp(named) !== null || named === "localhost"
      ? LOOPBACK
      : no("host_refused", "without tokens only a literal address may be asked");
  }
  const proven = parts.roster().authenticate(request.headers, parts.clock.now());
  if (proven.kind === "known") return proven.principal;
  return proven.kind === "missing"
    ? no("token_missing", "no token came along", "send `Authorization: Bearer`")
    : no("token_unknown", "the token is not known here, or has expired", "see `tokens list`");
}

async function post(
  parts: AppParts,
  request: Request,
  principal: Principal,
  name: string,
): Promise<Response> {
  if (!OPERATION_NAME.test(name)) {
    return no("operation_unknown", "the path ends in no operation", "see `GET /v1/operations`");
  }
  const body = await jsonOf(parts, request);
  if (body instanceof Response) return body;
  const call = checkShape(callShape, body.value);
  if (call.kind === "invalid") {
    const refusal = refuse("input_invalid", "expected `input`, and perhaps `dry_run`, `confirm`");
    return problemResponse(refusal, { ...NOT_BEGUN, problems: call.problems });
  }
  const answer = await parts.runner.call({
    principal: principal.name,
    scopes: principal.scopes,
    operation: name,
    input: call.model.input,
    dryRun: call.model.dry_run,
    confirm: call.model.confirm,
    key: request.headers.get("idempotency-key"),
    signal: request.signal,
  });
  return answerResponse(answer, name);
}

/** The body of a POST, read strictly once it is clear that this node is meant. */
async function jsonOf(
  parts: AppParts,
  request: Request,
): Promise<{ readonly value: Json } | Response> {
  if (!request.headers.has("x-anvil-node")) {
    return no("node_unasserted", "which node is meant was not said", "send `x-anvil-node`");
  }
  const type = request.headers.get("content-type") ?? "";
  if (!/^application\/json *(;|$)/i.test(type)) {
    return no("content_type_wrong", "expected `content-type: application/json`");
  }
  const bytes = await bodyOf(parts, request);
  if (bytes instanceof Response) return bytes;
  const read = readJson(bytes);
  return read.kind === "refused" ? problemResponse(read) : { value: read.value };
}

async function bodyOf(
  { clock, bodyMs }: AppParts,
  request: Request,
): Promise<Uint8Array | Response> {
  const late = new AbortController();
  const over = new AbortController();
  void clock.sleep(bodyMs, over.signal).then(() => late.abort("too slow"), () => {});
  const body = await readBodyBounded(request, INPUT_BOUNDS.bytes, late.signal);
  over.abort();
  if (body.kind === "ok") return body.bytes;
  return body.kind === "refused"
    ? problemResponse(body)
    : no("body_broken", "the body did not come whole, or not in time");
}

function answerResponse(answer: Answer, operation: string): Response {
  if (answer.kind === "refused") return problemResponse(answer, answer);
  const { result, dryRun, run, known } = answer;
  return json({
    operation,
    dry_run: dryRun,
    known,
    result,
    ...(run === null ? {} : { run: { ...run, result: null } }),
  });
}

/** A run of one's own, or any run for who may ask `operations.get`. */
function oneRun(parts: AppParts, principal: Principal, id: string): Response {
  const run = parts.ledger.get(id);
  const any = authorize(principal.scopes, "operations.get", "read");
  // Somebody else's run is not there: ids tell nobody that there is one.
  if (run === null || (any !== null && run.principal !== principal.name)) {
    return no("run_unknown", "no run has this id, or it was let go long ago");
  }
  return json(run);
}

function json(body: Json): Response {
  return new Response(`${JSON.stringify(body)}\n`, {
    headers: { "content-type": "application/json", "cache-control": "no-store" },
  });
}

function no(code: string, detail: string, nextStep?: string): Response {
  return problemResponse(refuse(code, detail, nextStep));
}
