import assert from "node:assert/strict";
import Anthropic from "@anthropic-ai/sdk";
import OpenAI from "openai";
import { exchange, parseResponse } from "../fixtures/raw_client.ts";
import {
  FAULT_POINTS,
  type RawAct,
  type RawScript,
  type RawUpstream,
  startRawUpstream,
} from "../fixtures/raw_upstream.ts";
import { startRouter, type TestRouter, UPSTREAMS } from "../support/router.ts";
import { ALIAS, MODEL, TOKEN } from "../support/router_toml.ts";
import { ask, askBody, CHAT, MESSAGES } from "../support/stream_reader.ts";
import { pause, until } from "../support/wait.ts";

/** Proves the model, and is a chat answer as far as the router looks. */
const answer: RawAct = {
  act: "answer",
  body: JSON.stringify({ object: "list", data: [{ id: MODEL }] }),
};

const POINTS: Readonly<Record<string, RawAct>> = {
  ...FAULT_POINTS,
  "close at the first byte, FIN": { act: "close-at-first-byte", how: "fin" },
  "close at the first byte, RST": { act: "close-at-first-byte", how: "reset" },
};

/** The first probe has connection 1, turn 0; a POST then reuses it, or finds it closed. */
function scriptOf(fault: RawAct, on: "fresh" | "reused"): RawScript {
  return on === "reused" ? [[answer, fault], [answer]] : [[answer], [fault], [answer]];
}

async function withRaw(
  script: RawScript,
  upstream: (typeof UPSTREAMS)[number],
  run: (router: TestRouter, raw: RawUpstream) => Promise<void>,
) {
  const raw = await startRawUpstream({ script });
  try {
    await using router = await startRouter({
      members: [raw.port],
      upstream,
      probes: { interval_ms: 60_000 },
    });
    await run(router, raw);
    await router.quiet();
  } finally {
    await raw.close();
  }
}

async function postTo(router: TestRouter, path: string, body: unknown) {
  const response = parseResponse((await exchange(router.port, ask(path, body))).bytes);
  assert.ok(response !== null, "no response head");
  await until("it is recorded", () => router.decisions.length === 1);
  // Whatever would send it again gets the time to.
  await pause(30);
  return response;
}

for (const upstream of UPSTREAMS) {
  for (const on of ["fresh", "reused"] as const) {
    Deno.test(`${on} connection, every fault point: one POST, or none, over ${upstream}`, async () => {
      const bodies = [askBody(), askBody({ padding: "x".repeat(1_500_000) })];
      for (const [point, fault] of Object.entries(POINTS)) {
        for (const path of [CHAT, MESSAGES]) {
          for (const body of path === CHAT ? bodies : bodies.slice(0, 1)) {
            const what = `${point}, ${on}, ${path}, ${JSON.stringify(body).length} bytes`;
            await withRaw(scriptOf(fault, on), upstream, async (router, raw) => {
              if (on === "fresh") {
                await until("the probe's connection is idle", () => raw.closeIdle() === 1);
                await pause(5);
              }
              const got = await postTo(router, path, body);
              const decision = router.decisions[0];
              if (point === "close after accept" && on === "reused") {
                // The idle connection closed before: a fresh one serves the only POST.
                assert.equal(got.status, 200, what);
                assert.equal(raw.posts, 1, what);
                return;
              }
              assert.equal(got.status, 502, what);
              if (raw.posts === 0) {
                assert.match(got.text, /not sent/, what);
                assert.equal(got.header("x-should-retry"), undefined, what);
                assert.equal(decision?.outcome, "upstream_unreachable", what);
                assert.equal(decision?.dispatched, 0, what);
              } else {
                assert.equal(raw.posts, 1, what);
                assert.doesNotMatch(got.text, /not sent/, what);
                assert.equal(got.header("x-should-retry"), "false", what);
                assert.equal(decision?.outcome, "upstream_closed", what);
                assert.equal(decision?.dispatched, 1, what);
              }
              if (point.startsWith("read") || point === "half a head") {
                assert.equal(raw.requests.filter((r) => r.method === "POST" && r.whole).length, 1);
              }
            });
          }
        }
      }
    });
  }

  Deno.test(`an idle connection that closed just before is not used, over ${upstream}`, async () => {
    for (const how of ["fin", "reset"] as const) {
      await withRaw([[answer]], upstream, async (router, raw) => {
        await until("the probe's connection is idle", () => raw.closeIdle(how) === 1);
        await pause(20);
        const got = await postTo(router, CHAT, askBody());
        assert.equal(got.status, 200);
        assert.equal(raw.posts, 1);
        assert.equal(raw.requests.find(({ method }) => method === "POST")?.connection, 2);
      });
    }
  });

  Deno.test(`nobody listens: 502, not sent, may be sent again, over ${upstream}`, async () => {
    const raw = await startRawUpstream({ script: [[answer]] });
    await using router = await startRouter({
      members: [raw.port],
      upstream,
      probes: { interval_ms: 60_000 },
    });
    await raw.close();
    const got = await postTo(router, CHAT, askBody());
    assert.equal(got.status, 502);
    assert.match(got.text, /not sent/);
    assert.equal(got.header("x-anvil-code"), "upstream_unreachable");
    assert.equal(got.header("x-should-retry"), undefined);
    assert.equal(router.decisions[0]?.dispatched, 0);
    assert.equal(raw.posts, 0);
    // The failed request made the prober look at once, long before its next turn.
    await until(
      "the tier is not ready",
      async () => (await router.status()).tiers[0]?.readiness === "not_ready",
    );
  });

  Deno.test(`client libraries that retry do not send it again, over ${upstream}`, async () => {
    await withRaw(
      [[answer, FAULT_POINTS["read, then FIN"]], [answer]],
      upstream,
      async (router, raw) => {
        const openai = new OpenAI({ apiKey: TOKEN, baseURL: `${router.url}/v1` });
        await assert.rejects(
          openai.chat.completions.create({ model: ALIAS, messages: [] }),
          OpenAI.InternalServerError,
        );
        assert.equal(raw.posts, 1);
      },
    );
    await withRaw(
      [[answer, FAULT_POINTS["read, then RST"]], [answer]],
      upstream,
      async (router, raw) => {
        const anthropic = new Anthropic({ apiKey: TOKEN, baseURL: router.url });
        await assert.rejects(
          anthropic.messages.create({ model: ALIAS, messages: [], max_tokens: 1 }),
          Anthropic.InternalServerError,
        );
        assert.equal(raw.posts, 1);
      },
    );
  });
}
