import assert from "node:assert/strict";
import type { Decision } from "./decision.ts";
import { PACE_MS, paces } from "./pace.ts";

const NOW = Date.UTC(2026, 0, 1);

/** A request of tier `a` that ended `ago` milliseconds before now. */
function ended(ago: number, more: Partial<Decision> = {}): Decision {
  const duration_ms = more.duration_ms ?? 100;
  return {
    ...{ at: new Date(NOW - ago - duration_ms).toISOString(), request_id: "r", client: null },
    ...{ alias: "x", tier: "a", member: "m", dialect: null, stream: true, queue_ms: 0 },
    ...{ ttft_ms: 10, duration_ms, bytes_in: 1, bytes_out: 1, usage: null, status: 200 },
    ...{ outcome: "completed", code: null, dispatched: 1, client_retries: null },
    ...more,
  };
}

Deno.test("paces: per tier, of the last minute, by when a request ended", () => {
  const [a, b] = paces(
    [
      ended(PACE_MS + 1, { ttft_ms: 9999 }),
      ended(-5000, { ttft_ms: 9999 }), // the clock was set back since
      ended(PACE_MS - 1, { duration_ms: 120_000 }), // began long before
      ended(10, { ttft_ms: 20, duration_ms: 200 }),
      ended(5, { ttft_ms: null, outcome: "upstream_closed" }),
      ended(1, { ttft_ms: 30, duration_ms: 50, outcome: "client_closed" }),
      ended(1, { tier: null }),
    ],
    ["a", "b"],
    NOW,
  );
  assert.deepEqual(a, {
    ...{ tier: "a", window_seconds: 60, requests: 4, failed: 1 },
    ttft_ms: { p50: 20, p95: 30 },
    duration_ms: { p50: 100, p95: 120_000 },
  });
  assert.deepEqual(b, {
    ...{ tier: "b", window_seconds: 60, requests: 0, failed: 0, ttft_ms: null, duration_ms: null },
  });
});
