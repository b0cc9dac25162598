import assert from "node:assert/strict";
import { errorBody, errorEvent, failureOf, FAILURES } from "./failure.ts";

Deno.test("failures: only what may have reached a member forbids a retry", () => {
  const rows = Object.entries(FAILURES);
  const final = rows.filter(([, row]) => !row.retryable).map(([code]) => code).sort();
  assert.deepEqual(final, [
    "client_stalled",
    "router_error",
    "router_stopped",
    "upstream_closed",
    "upstream_first_byte_timeout",
    "upstream_idle_timeout",
    "upstream_malformed",
    "upstream_truncated",
  ]);
  for (const [code, row] of rows) {
    assert.match(code, /^[a-z][a-z_]*$/);
    assert.ok(row.status >= 400 && row.status < 600, code);
    if (row.outcome.startsWith("refused_")) assert.ok(row.retryable, code);
  }
});

Deno.test("failures: the status a client sees", () => {
  const status = (code: keyof typeof FAILURES) => failureOf(code).status;
  assert.equal(status("token_missing"), 401);
  assert.equal(status("alias_unknown"), 404);
  assert.equal(status("body_too_large"), 413);
  assert.equal(status("queue_full"), 429);
  assert.equal(status("tier_quiesced"), 503);
  assert.equal(status("upstream_unreachable"), 502);
  assert.equal(status("upstream_first_byte_timeout"), 504);
});

Deno.test("failures: in the caller's dialect, on one line", () => {
  const message = 'a "b"\nc';
  assert.equal(
    errorBody("openai", "queue_full", message, "r1"),
    '{"error":{"message":"a \\"b\\"\\nc","type":"rate_limit_error","param":null,"code":"queue_full"}}',
  );
  assert.equal(
    errorBody("anthropic", "tier_not_ready", message, "r1"),
    '{"type":"error","error":{"type":"overloaded_error","message":"a \\"b\\"\\nc",' +
      '"code":"tier_not_ready"},"request_id":"r1"}',
  );
});

Deno.test("failures: in a stream, after what stands there is finished, without a terminator", () => {
  const openai = errorEvent("openai", "upstream_truncated", "m", "r", false);
  assert.equal(
    openai,
    '\ndata: {"error":{"message":"m","type":"upstream_error","param":null,"code":"upstream_truncated"}}\n\n',
  );
  assert.equal(errorEvent("openai", "upstream_truncated", "m", "r", true), `\n${openai}`);
  const anthropic = errorEvent("anthropic", "router_stopped", "m", "r", false);
  assert.match(anthropic, /^\nevent: error\ndata: \{"type":"error",[^\n]*\}\n\n$/);
});
