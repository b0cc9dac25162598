import assert from "node:assert/strict";
import type { Outcome } from "../../lib/relay/failure.ts";
import { type Engine, startEngine } from "../fixtures/engine.ts";
import { FAULTS } from "../fixtures/faults.ts";
import { exchange, parseResponse, postBytes } from "../fixtures/raw_client.ts";
import { ALL_DIALECTS } from "../support/router_rig.ts";
import { startRouter, type TestRouter } from "../support/router.ts";
import { ALIAS, MODEL } from "../support/router_toml.ts";
import { ask } from "../support/stream_reader.ts";
import { until } from "../support/wait.ts";

const messages = [{ role: "user", content: "x" }];

/** The dialects that stream, and a small request in each. */
const DIALECTS: Readonly<Record<string, readonly [path: string, body: object]>> = {
  "openai-chat": ["/v1/chat/completions", { messages, max_tokens: 8 }],
  "openai-completions": ["/v1/completions", { prompt: "x", max_tokens: 8 }],
  "openai-responses": ["/v1/responses", { input: "x", max_output_tokens: 8 }],
  "anthropic-messages": ["/v1/messages", { messages, max_tokens: 8 }],
};

/** What the client is answered and how it is recorded; `direct`: the body is the engine's own. */
type Expected = readonly [status: number, outcome: Outcome, body: "direct" | "ours" | "cut"];

const WHOLE: Expected = [200, "completed", "direct"];
const CUT: Expected = [200, "upstream_truncated", "cut"];

/** Fault -> [streamed, not streamed]. Every fault of the fixture stands here. */
const EXPECTED: Readonly<Record<string, readonly [Expected, Expected]>> = {
  "slow-first-byte;ms=50": [WHOLE, WHOLE],
  "slow-body;ms=2": [WHOLE, WHOLE],
  "reset-at;byte=0": [[502, "upstream_closed", "ours"], [502, "upstream_closed", "ours"]],
  "fin-at;byte=0": [[502, "upstream_closed", "ours"], [502, "upstream_closed", "ours"]],
  "reset-at;byte=20": [[502, "upstream_closed", "ours"], [502, "upstream_closed", "ours"]],
  "fin-at;byte=20": [[502, "upstream_closed", "ours"], [502, "upstream_closed", "ours"]],
  "no-terminator": [CUT, WHOLE],
  "http10-close": [WHOLE, WHOLE],
  "half-event": [CUT, WHOLE],
  "half-event;end=reset": [CUT, WHOLE],
  "half-event;end=clean": [CUT, WHOLE],
  "http10-close,half-event": [CUT, WHOLE],
  "gzip": [[200, "completed_unverified", "direct"], [200, "completed_unverified", "direct"]],
  "429": [[429, "upstream_status", "direct"], [429, "upstream_status", "direct"]],
  "500": [[500, "upstream_status", "direct"], [500, "upstream_status", "direct"]],
  "500-html": [[500, "upstream_status", "direct"], [500, "upstream_status", "direct"]],
  "bad-head": [[502, "upstream_malformed", "ours"], [502, "upstream_malformed", "ours"]],
  "duplicate-headers": [WHOLE, WHOLE],
  "duplicate-headers;name=content-length;value=3": [
    [502, "upstream_malformed", "ours"],
    [502, "upstream_malformed", "ours"],
  ],
  "many-headers;count=60": [WHOLE, WHOLE],
  "connection-close": [WHOLE, WHOLE],
  "framing;kind=chunked": [WHOLE, WHOLE],
  "framing;kind=length": [WHOLE, WHOLE],
  "framing;kind=close": [WHOLE, WHOLE],
  "split-writes": [WHOLE, WHOLE],
  "comment-frames;every=1": [WHOLE, WHOLE],
  "hang": [[504, "upstream_timeout", "ours"], [504, "upstream_timeout", "ours"]],
  "early-response": [[413, "upstream_status", "direct"], [413, "upstream_status", "direct"]],
};

async function withRouter(run: (router: TestRouter, engine: Engine) => Promise<void>) {
  const engine = await startEngine();
  try {
    await using router = await startRouter({
      members: [engine.port],
      tier: { dialects: ALL_DIALECTS },
      timeouts: { first_byte_seconds: 1 },
    });
    await run(router, engine);
    await router.quiet();
  } finally {
    await engine.close();
  }
}

Deno.test("every fault of the fixture has an expectation here", () => {
  const named = new Set(
    Object.keys(EXPECTED).flatMap((fault) => fault.split(",")).map((fault) => fault.split(";")[0]),
  );
  // About identity, not about a request.
  assert.deepEqual(Object.keys(FAULTS).filter((name) => !named.has(name)), ["wrong-model"]);
});

for (const [dialect, [path, body]] of Object.entries(DIALECTS)) {
  Deno.test(`every fault, streamed and not, in ${dialect}: sent once, told truly`, async () => {
    await withRouter(async (router, engine) => {
      let posts = 0;
      for (const [fault, expected] of Object.entries(EXPECTED)) {
        for (const stream of [true, false]) {
          const what = `${dialect} stream=${stream} ${fault}`;
          const [status, outcome, whose] = expected[stream ? 0 : 1];
          const more = { "x-fixture-fault": fault };
          const before = router.decisions.length;
          const got = await exchange(
            router.port,
            ask(path, { model: ALIAS, stream, ...body }, more),
          );
          const response = parseResponse(got.bytes);
          assert.equal(response?.status, status, what);
          assert.equal(response?.whole, true, what);
          await until(`${what} is recorded`, () => router.decisions.length > before);
          const decision = router.decisions.at(-1);
          assert.equal(decision?.outcome, outcome, what);
          assert.equal(decision?.dispatched, 1, what);
          assert.equal(engine.counts.posts[path], ++posts, `${what}: sent once`);
          if (status >= 500) assert.equal(response?.header("x-should-retry"), "false", what);
          if (fault === "429") assert.equal(response?.header("retry-after"), "7", what);
          if (whose === "direct") {
            const direct = await exchange(
              engine.port,
              postBytes(path, { model: MODEL, stream, ...body }, more),
            );
            posts++;
            assert.deepEqual(response?.body, parseResponse(direct.bytes)?.body, what);
          } else if (whose === "ours") {
            const told = JSON.parse(response?.text ?? "");
            assert.equal(told.error.code, decision?.code, what);
          }
        }
      }
    });
  });
}

Deno.test("endpoints that do not stream tell of faults as the others do", async () => {
  const bodies: Readonly<Record<string, object>> = {
    "/v1/embeddings": { input: "x" },
    "/v1/rerank": { query: "a", documents: ["a b", "c"] },
    "/v1/audio/speech": { input: "x", voice: "y" },
    "/v1/messages/count_tokens": { messages },
  };
  await withRouter(async (router) => {
    for (const [path, body] of Object.entries(bodies)) {
      for (
        const [fault, status, outcome] of [
          ["", 200, "completed"],
          ["framing;kind=length", 200, "completed"],
          ["split-writes", 200, "completed"],
          ["500", 500, "upstream_status"],
          ["reset-at;byte=0", 502, "upstream_closed"],
          ["bad-head", 502, "upstream_malformed"],
        ] as const
      ) {
        const before = router.decisions.length;
        const request = ask(path, { model: ALIAS, ...body }, { "x-fixture-fault": fault });
        const response = parseResponse((await exchange(router.port, request)).bytes);
        assert.equal(response?.status, status, `${path} ${fault}`);
        await until("it is recorded", () => router.decisions.length > before);
        assert.equal(router.decisions.at(-1)?.outcome, outcome, `${path} ${fault}`);
      }
    }
  });
});
