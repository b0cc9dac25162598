import assert from "node:assert/strict";
import { type Answer, errorAnswer, preflight } from "./response.ts";

const TOLD = { family: "openai", requestId: "r-1", message: "m" } as const;

function headersOf(answer: Answer): Record<string, string> {
  return Object.fromEntries(answer.headers);
}

const EVERY = {
  "access-control-allow-origin": "*",
  "access-control-expose-headers":
    "x-request-id, request-id, x-anvil-tier, x-anvil-code, retry-after",
  "content-type": "application/json",
  "x-request-id": "r-1",
};

Deno.test("error answers: a refusal before dispatch may be tried again", () => {
  const response = errorAnswer("queue_full", { ...TOLD, tier: "t", retryAfterSeconds: 15 });
  assert.equal(response.status, 429);
  assert.deepEqual(headersOf(response), {
    ...EVERY,
    "x-anvil-code": "queue_full",
    "x-anvil-tier": "t",
    "retry-after": "15",
  });
  assert.deepEqual(JSON.parse(response.body ?? ""), {
    error: { message: "m", type: "rate_limit_error", param: null, code: "queue_full" },
  });
});

Deno.test("error answers: what may have run is not tried again", () => {
  const response = errorAnswer("upstream_closed", TOLD);
  assert.equal(response.status, 502);
  assert.deepEqual(headersOf(response), {
    ...EVERY,
    "x-anvil-code": "upstream_closed",
    "x-should-retry": "false",
  });
});

Deno.test("error answers: how to authenticate, and the id under the name its library looks for", () => {
  const unknown = errorAnswer("token_unknown", { ...TOLD, family: "anthropic" });
  assert.equal(headersOf(unknown)["www-authenticate"], 'Bearer realm="anvil-router"');
  assert.equal(headersOf(unknown)["request-id"], "r-1");
});

Deno.test("preflight: open to every page, authorization named", () => {
  const response = preflight();
  assert.equal(response.status, 204);
  assert.equal(response.body, null);
  assert.equal(headersOf(response)["access-control-allow-headers"], "*, authorization");
  assert.equal(headersOf(response)["access-control-allow-methods"], "GET, POST, OPTIONS");
  assert.equal(headersOf(response)["access-control-allow-origin"], "*");
});
