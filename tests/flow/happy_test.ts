import assert from "node:assert/strict";
import { type Engine, startEngine } from "../fixtures/engine.ts";
import { generatedText } from "../fixtures/generation.ts";
import { headerOf } from "../fixtures/http_wire.ts";
import { exchange, parseResponse, postBytes } from "../fixtures/raw_client.ts";
import { startRouter, type TestRouter, UPSTREAMS } from "../support/router.ts";
import { ALIAS, MODEL, OBSERVER, TOKEN } from "../support/router_toml.ts";
import { ask, askBody, CHAT, MESSAGES } from "../support/stream_reader.ts";
import { until } from "../support/wait.ts";

const encoder = new TextEncoder();
const say = [{ role: "user" as const, content: "say something" }];

async function withRouter(
  upstream: (typeof UPSTREAMS)[number],
  run: (router: TestRouter, engine: Engine) => Promise<void>,
) {
  const engine = await startEngine();
  try {
    await using router = await startRouter({ members: [engine.port], upstream });
    await run(router, engine);
    await router.quiet();
  } finally {
    await engine.close();
  }
}

async function parsed(port: number, request: Uint8Array) {
  const response = parseResponse((await exchange(port, request)).bytes);
  assert.ok(response !== null, "no response head");
  return response;
}

for (const upstream of UPSTREAMS) {
  Deno.test(`openai client by alias, whole and streamed, over ${upstream}`, async () => {
    await withRouter(upstream, async (router, engine) => {
      const whole = await router.openai.chat.completions.create({
        model: ALIAS,
        messages: say,
        max_tokens: 9,
      });
      assert.equal(whole.choices[0]?.message.content, generatedText(9));
      const stream = await router.openai.chat.completions.create({
        model: ALIAS,
        messages: say,
        max_tokens: 200,
        stream: true,
        stream_options: { include_usage: true },
      });
      let text = "";
      let tokens = 0;
      for await (const chunk of stream) {
        text += chunk.choices[0]?.delta.content ?? "";
        tokens = chunk.usage?.completion_tokens ?? tokens;
      }
      assert.equal(text, generatedText(200));
      assert.equal(tokens, 200);
      await until("both are recorded", () => router.decisions.length === 2);
      const [first, second] = router.decisions;
      assert.equal(first?.stream, false);
      assert.equal(second?.stream, true);
      for (const [decision, output] of [[first, 9], [second, 200]] as const) {
        assert.equal(decision?.outcome, "completed");
        assert.equal(decision?.dispatched, 1);
        assert.equal(decision?.client, "tester");
        assert.equal(decision?.alias, ALIAS);
        assert.equal(decision?.tier, "primary");
        assert.equal(decision?.member, "m1");
        assert.equal(decision?.status, 200);
        assert.equal(decision?.client_retries, 0);
        assert.equal(decision?.usage?.output_tokens, output);
      }
      assert.equal(engine.counts.posts[CHAT], 2);
    });
  });

  Deno.test(`anthropic client by alias, whole and streamed, over ${upstream}`, async () => {
    await withRouter(upstream, async (router, engine) => {
      const request = { model: ALIAS, messages: say, max_tokens: 12 };
      const whole = await router.anthropic.messages.create(request);
      assert.ok(whole.content[0]?.type === "text");
      assert.equal(whole.content[0].text, generatedText(12));
      const stream = router.anthropic.messages.stream({ ...request, max_tokens: 150 });
      assert.equal(await stream.finalText(), generatedText(150));
      assert.equal((await stream.finalMessage()).usage.output_tokens, 150);
      await until("both are recorded", () => router.decisions.length === 2);
      assert.deepEqual(
        router.decisions.map(({ outcome, stream, usage }) => [
          outcome,
          stream,
          usage?.output_tokens,
        ]),
        [["completed", false, 12], ["completed", true, 150]],
      );
      // The library's own name for it, so that a person can find the record of what it reports.
      assert.equal(whole._request_id, router.decisions[0]?.request_id);
      assert.equal(engine.counts.posts[MESSAGES], 2);
    });
  });

  Deno.test(`a body crosses byte for byte, its model value apart, over ${upstream}`, async () => {
    await withRouter(upstream, async (router, engine) => {
      // Everything that re-serialising would change: number forms, escapes, order, space, repeats.
      const shape = (model: string) =>
        ` {"z" :1.0e2,\t"seed":18446744073709551615 , "temperature":0.10, "unknown":{"b":1,"a":[1e400,-0.0]},
 "messages":[{"role":"user","content":"\\u00fc \\ud83d\\ude00 \\/ \u00fc {\\"model\\":\\"x\\"}"}],
 "metadata":{"model":"${ALIAS}"}, "model"\n:\t${model} ,"max_tokens":3,"stream":false}\r\n `;
      for (const path of [CHAT, MESSAGES]) {
        // The model named plainly, and with escapes.
        for (const name of [`"${ALIAS}"`, `"llm\\u002eprimary"`]) {
          const answer = await parsed(router.port, ask(path, shape(name)));
          assert.equal(answer.status, 200, answer.text);
          const expected = shape(`"${MODEL}"`);
          assert.equal(new TextDecoder().decode(engine.last?.body), expected);
          const head = engine.last?.head;
          assert.ok(head);
          assert.equal(headerOf(head, "content-length"), String(encoder.encode(expected).length));
          assert.equal(headerOf(head, "transfer-encoding"), undefined);
        }
      }
    });
  });

  Deno.test(`a response is the direct one, byte for byte, over ${upstream}`, async () => {
    await withRouter(upstream, async (router, engine) => {
      const faults = ["", "comment-frames;every=2", "split-writes", "framing;kind=chunked", "gzip"];
      for (const path of [CHAT, MESSAGES]) {
        for (const stream of [false, true]) {
          for (const fault of faults) {
            const more = { "x-fixture-fault": fault };
            const direct = await parsed(
              engine.port,
              postBytes(path, askBody({ model: MODEL, stream }), more),
            );
            const relayed = await parsed(router.port, ask(path, askBody({ stream }), more));
            const what = `${path} stream=${stream} ${fault}`;
            assert.equal(relayed.status, 200, what);
            assert.equal(relayed.whole, true, what);
            assert.deepEqual(relayed.body, direct.body, what);
            for (const name of ["content-type", "content-encoding", "cache-control"]) {
              assert.equal(relayed.header(name), direct.header(name), `${what} ${name}`);
            }
          }
        }
      }
    });
  });

  Deno.test(`headers that cross, and those that stop, over ${upstream}`, async () => {
    await withRouter(upstream, async (router, engine) => {
      const sent = {
        "x-api-key": TOKEN,
        "cookie": "session=canary",
        "connection": "keep-alive, x-private-hop",
        "x-private-hop": "1",
        "te": "trailers",
        "proxy-authorization": "Basic Y2FuYXJ5",
        "accept-encoding": "gzip, br",
        "x-forwarded-for": "192.0.2.9",
        "anthropic-version": "2023-06-01",
        "x-stainless-retry-count": "2",
        "x-custom": "kept",
        "x-request-id": "client-id.1_A",
        "x-fixture-fault": "connection-close,duplicate-headers",
      };
      const answer = await parsed(router.port, ask(CHAT, askBody(), sent));
      assert.equal(answer.status, 200);
      const head = engine.last?.head;
      assert.ok(head);
      for (
        const name of [
          ...["authorization", "x-api-key", "cookie", "x-private-hop", "te"],
          ...["proxy-authorization", "x-forwarded-for", "transfer-encoding"],
        ]
      ) assert.equal(headerOf(head, name), undefined, name);
      assert.equal(head.lines.join("\n").includes(TOKEN), false);
      assert.equal(headerOf(head, "accept-encoding"), "identity");
      assert.equal(headerOf(head, "anthropic-version"), "2023-06-01");
      assert.equal(headerOf(head, "x-custom"), "kept");
      assert.equal(headerOf(head, "host"), `127.0.0.1:${engine.port}`);
      // Back: hop-by-hop ones stop, the rest crosses, repeated ones stay repeated.
      assert.equal(answer.header("x-fixture-hop"), undefined);
      assert.equal(answer.header("connection") ?? "", "");
      assert.deepEqual(
        answer.headers.filter(([name]) => name === "set-cookie").map(([, value]) => value),
        ["a=1", "b=2"],
      );
      assert.equal(answer.header("x-request-id"), "client-id.1_A");
      assert.equal(answer.header("x-anvil-tier"), "primary");
      await until("it is recorded", () => router.decisions.length === 1);
      assert.equal(router.decisions[0]?.request_id, "client-id.1_A");
      assert.equal(router.decisions[0]?.client_retries, 2);
      for (const bad of ["has space", "a/b", "x".repeat(129), 'quote"d']) {
        const other = await parsed(router.port, ask(CHAT, askBody(), { "x-request-id": bad }));
        assert.match(other.header("x-request-id") ?? "", /^ex-[0-9a-f]{16}-[0-9a-z]+$/, bad);
      }
    });
  });
}

Deno.test("an answer's error status passes with its body, once", async () => {
  await withRouter("http1", async (router, engine) => {
    const cases = [["429;retry-after=3", 429, undefined], ["500", 500, "false"]] as const;
    for (const [fault, status, retry] of cases) {
      engine.setFault(fault);
      const direct = await parsed(engine.port, postBytes(CHAT, askBody({ model: MODEL })));
      const answer = await parsed(router.port, ask(CHAT));
      assert.equal(answer.status, status);
      assert.deepEqual(answer.body, direct.body);
      assert.equal(answer.header("retry-after"), direct.header("retry-after"));
      assert.equal(answer.header("x-should-retry"), retry);
    }
    await until("both are recorded", () => router.decisions.length === 2);
    for (const decision of router.decisions) assert.equal(decision.outcome, "upstream_status");
    assert.equal(engine.counts.posts[CHAT], 4);
  });
});

Deno.test("the list of models is the aliases, in each family's shape", async () => {
  await withRouter("http1", async (router) => {
    const listed = [];
    for await (const model of router.openai.models.list()) listed.push(model.id);
    assert.deepEqual(listed, [ALIAS]);
    const page = await router.anthropic.models.list();
    assert.deepEqual(page.data.map(({ id, type }) => [id, type]), [[ALIAS, "model"]]);
    const one = await router.anthropic.models.retrieve(ALIAS);
    assert.equal(one.id, ALIAS);
    const observer = { authorization: `Bearer ${OBSERVER}` };
    const refused = await fetch(`${router.url}/v1/models`, { headers: observer });
    assert.equal(refused.status, 403);
    await refused.body?.cancel();
  });
});
