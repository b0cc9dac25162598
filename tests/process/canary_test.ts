import assert from "node:assert/strict";
import { startEngine } from "../fixtures/engine.ts";
import { generatedText } from "../fixtures/generation.ts";
import { exchange, parseResponse } from "../fixtures/raw_client.ts";
import { withRouterProcess } from "../support/router_process.ts";
import { OBSERVER, TOKEN } from "../support/router_toml.ts";
import { ask, askBody, CHAT, get, MESSAGES, StreamReader } from "../support/stream_reader.ts";
import { until } from "../support/wait.ts";

const PROMPT = "canary-prompt-6f1d";
const QUERY = "canary-query-6f1d";
const HEADER = "canary-header-6f1d";
const MODEL_NAME = "canary-model-6f1d";
const WRONG = `anvil_${"wrong0".repeat(7)}T`;

Deno.test("nothing of a request is in any sink: token, prompt, completion, query, header", async () => {
  const engine = await startEngine();
  try {
    await withRouterProcess({
      members: [engine.port],
      timeouts: { first_byte_seconds: 1 },
      limits: { drain_seconds: 1 },
    }, async (router) => {
      const bodies: string[] = [];
      const messages = [{ role: "user", content: PROMPT }];
      const faults = [
        ...["", "500", "429", "fin-at;byte=0", "reset-at;byte=400", "half-event;event=3"],
        ...["bad-head", "http10-close,no-terminator", "hang"],
      ];
      for (const path of [CHAT, MESSAGES]) {
        for (const stream of [true, false]) {
          await Promise.all(faults.map(async (fault) => {
            const headers = {
              "x-fixture-fault": fault,
              "x-canary": HEADER,
              "cookie": HEADER,
              "user-agent": HEADER,
              "x-stainless-retry-count": HEADER,
              "x-request-id": `id ${HEADER}`,
            };
            const request = ask(`${path}?key=${QUERY}`, askBody({ stream, messages }), headers);
            const got = await exchange(router.port, request);
            const response = parseResponse(got.bytes);
            // What the engine itself says is the client's; an answer of the router's is a sink.
            if (response !== null && response.header("x-anvil-code") !== undefined) {
              bodies.push(response.text);
            }
            const error = /data: (\{.*"code":"upstream_truncated".*\})/.exec(response?.text ?? "");
            if (error !== null) bodies.push(error[1] ?? "");
          }));
        }
        const more: readonly Uint8Array[] = [
          ask(`${path}?${QUERY}`, askBody({ messages }), { authorization: `Bearer ${WRONG}` }),
          ask(path, askBody({ messages }), { authorization: `Basic ${btoa(WRONG)}` }),
          ask(path, askBody({ messages, model: MODEL_NAME })),
          ask(path, askBody({ messages, model: TOKEN })),
          ask(path, askBody({ messages, tools: PROMPT, max_tokens: 1e9 })),
          ask(path, JSON.stringify(askBody({ messages })).slice(0, -1)),
          ask(path, `${JSON.stringify(askBody({ messages }))}${PROMPT}`),
          ask(path, `{"model":"llm.primary","messages":[{"content":"${PROMPT}"}],"model":"x"}`),
          ask(path, `{"${PROMPT}":1}`),
          ask(`${path}/${QUERY}`, askBody({ messages })),
          get(`/v1/models/${QUERY}?${QUERY}`),
        ];
        for (const request of more) {
          const response = parseResponse((await exchange(router.port, request)).bytes);
          assert.ok((response?.status ?? 0) >= 400, response?.text);
          bodies.push(response?.text ?? "");
        }
      }
      // A client that leaves, a client the drain cuts.
      const slow = { "x-fixture-fault": "slow-body;ms=60000" };
      const gone = ask(CHAT, askBody({ stream: true, messages }), slow);
      (await StreamReader.open(router.port, gone)).close();
      using held = await StreamReader.open(router.port, gone);
      assert.ok(await held.readUntil("Anvil token 1"));
      const admin: string[] = [];
      for (const path of ["/v1/router/status", "/v1/decisions?limit=1000", "/metrics"]) {
        const request = get(path, { authorization: `Bearer ${OBSERVER}` });
        admin.push(parseResponse((await exchange(router.adminPort, request)).bytes)?.text ?? "");
      }
      await until(
        "it is all recorded",
        async () => (await router.decisionText()).split("\n").length > 54,
      );
      router.kill("SIGTERM");
      const { stdout, stderr } = await router.finished;
      const sinks: Readonly<Record<string, string>> = {
        "decisions.jsonl": await router.decisionText(),
        stdout,
        stderr,
        "error bodies": bodies.join("\n"),
        status: admin[0] ?? "",
        decisions: admin[1] ?? "",
        metrics: admin[2] ?? "",
      };
      // Each sink was really written to.
      assert.match(sinks["decisions.jsonl"] ?? "", /"outcome":"upstream_truncated"/);
      assert.match(stderr, /failed a request/);
      assert.ok(bodies.length > 30);
      assert.match(sinks["decisions"] ?? "", /"outcome":"completed"/);
      const completion = generatedText(6).slice(0, 14);
      const canaries: Readonly<Record<string, string>> = {
        "the token": TOKEN,
        "half of the token": TOKEN.slice(0, 30),
        "the observer's token": OBSERVER,
        "a wrong token": WRONG,
        "a wrong token, coded": btoa(WRONG).slice(0, 20),
        "the prompt": PROMPT,
        "the completion": completion,
        "the query": QUERY,
        "a header": HEADER,
        "the model name a client made up": MODEL_NAME,
      };
      for (const [where, text] of Object.entries(sinks)) {
        for (const [what, canary] of Object.entries(canaries)) {
          const at = text.indexOf(canary);
          assert.equal(
            at,
            -1,
            `${what} is in ${where}: ${text.slice(Math.max(0, at - 80), at + 80)}`,
          );
        }
      }
    });
  } finally {
    await engine.close();
  }
});
