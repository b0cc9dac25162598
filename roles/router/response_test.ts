import assert from "node:assert/strict";
import { errorResponse, preflight } from "./response.ts";

const TOLD = { family: "openai", requestId: "r-1", message: "m" } as const;

function headersOf(response: Response): Record<string, string> {
  return Object.fromEntries(response.headers);
}

const EVERY = {
  "access-control-allow-origin": "*",
  "access-control-expose-headers": "x-request-id, x-anvil-tier, x-anvil-code, retry-after",
  "content-type": "application/json",
  "x-request-id": "r-1",
};

Deno.test("error answers: a refusal before dispatch may be tried again", async () => {
  const response = errorResponse("queue_full", { ...TOLD, tier: "t", retryAfterSeconds: 15 });
  assert.equal(response.status, 429);
  assert.deepEqual(headersOf(response), {
    ...EVERY,
    "x-anvil-code": "queue_full",
    "x-anvil-tier": "t",
    "retry-after": "15",
  });
  assert.deepEqual(await response.json(), {
    error: { message: "m", type: "rate_limit_error", param: null, code: "queue_full" },
  });
});

Deno.test("error answers: what may have run is not tried again", () => {
  const response = errorResponse("upstream_closed", TOLD);
  assert.equal(response.status, 502);
  assert.deepEqual(headersOf(response), {
    ...EVERY,
    "x-anvil-code": "upstream_closed",
    "x-should-retry": "false",
  });
});

Deno.test("error answers: how to authenticate, and which connection is spent", () => {
  const unknown = errorResponse("token_unknown", { ...TOLD, family: "anthropic" });
  assert.equal(unknown.headers.get("www-authenticate"), 'Bearer realm="anvil-router"');
  assert.equal(errorResponse("body_too_slow", TOLD).headers.get("connection"), "close");
});

Deno.test("preflight: open to every page, authorization named", () => {
  const response = preflight();
  assert.equal(response.status, 204);
  assert.equal(response.body, null);
  assert.equal(response.headers.get("access-control-allow-headers"), "*, authorization");
  assert.equal(response.headers.get("access-control-allow-methods"), "GET, POST, OPTIONS");
  assert.equal(response.headers.get("access-control-allow-origin"), "*");
});
