import assert from "node:assert/strict";
import Anthropic from "@anthropic-ai/sdk";
import OpenAI from "openai";
import { type Engine, startEngine } from "../fixtures/engine.ts";
import { eventsOf, exchange, parseResponse, postBytes } from "../fixtures/raw_client.ts";
import { startRouter, type TestRouter, UPSTREAMS } from "../support/router.ts";
import { ALIAS, MODEL } from "../support/router_toml.ts";
import { ask, askBody, CHAT, MESSAGES } from "../support/stream_reader.ts";
import { until } from "../support/wait.ts";

/** Every way a stream ends short. The byte is in the middle of an event, after the head. */
const CUTS = [
  ...["fin-at;byte=900", "reset-at;byte=900"],
  ...["half-event;event=3", "half-event;event=3;end=reset", "half-event;event=3;end=clean"],
  ...["http10-close,half-event;event=3", "http10-close,no-terminator", "no-terminator"],
] as const;

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

const ENDED = "upstream_truncated";

const request = {
  model: ALIAS,
  max_tokens: 30,
  messages: [{ role: "user" as const, content: "x" }],
};

async function streamWith(router: TestRouter, path: string): Promise<void> {
  if (path === CHAT) {
    const stream = await router.openai.chat.completions.create({ ...request, stream: true });
    for await (const _ of stream);
  } else await router.anthropic.messages.stream(request).finalMessage();
}

for (const upstream of UPSTREAMS) {
  Deno.test(`a stream that ends short is an error for client and record, over ${upstream}`, async () => {
    await withRouter(upstream, async (router, engine) => {
      let records = 0;
      for (const path of [CHAT, MESSAGES]) {
        for (const fault of CUTS) {
          const what = `${path} ${fault}`;
          engine.setFault(fault);
          // The library finds our error, and not that some event of the member is no JSON.
          await assert.rejects(streamWith(router, path), (error: unknown) => {
            const known = error instanceof OpenAI.APIError || error instanceof Anthropic.APIError;
            assert.ok(known, `${what}: ${error}`);
            assert.match(JSON.stringify(error.error), /upstream_truncated/, what);
            return true;
          });
          const got = await exchange(
            router.port,
            ask(path, askBody({ stream: true, max_tokens: 30 })),
          );
          const response = parseResponse(got.bytes);
          assert.ok(response !== null, what);
          assert.equal(response.status, 200, what);
          // Our event ends the stream, and the framing towards the client is whole.
          assert.equal(response.whole, true, what);
          const { text } = response;
          assert.equal(
            /\[DONE\]|message_stop|"finish_reason":"/.test(text),
            false,
            what,
          );
          const events = eventsOf(text);
          const last = JSON.parse(events.at(-1) ?? "null");
          const error = last.error;
          assert.equal(error.code, "upstream_truncated", what);
          if (path === MESSAGES) {
            assert.equal(last.type, "error", what);
            assert.match(text, /\n\nevent: error\ndata: [^\n]*\n\n$/, what);
          } else assert.match(text, /\n\ndata: \{"error":[^\n]*\n\n$/, what);
          // What came before it is the engine's own, each event whole.
          for (const event of events.slice(0, -1)) {
            assert.doesNotThrow(() => JSON.parse(event), `${what}: ${event}`);
          }
          records += 2;
          await until("both are recorded", () => router.decisions.length === records);
          for (const decision of router.decisions.slice(-2)) {
            assert.equal(decision.outcome, "upstream_truncated", what);
            assert.equal(decision.code, "upstream_truncated", what);
            assert.equal(decision.dispatched, 1, what);
          }
        }
      }
      assert.equal(engine.counts.posts[CHAT], CUTS.length * 2);
    });
  });

  Deno.test(`an answer that is no stream and ends short: 502 or a broken connection, over ${upstream}`, async () => {
    await withRouter(upstream, async (router, engine) => {
      const whole = parseResponse((await exchange(router.port, ask(CHAT))).bytes);
      assert.equal(whole?.whole, true);
      await until("it is recorded", () => router.decisions.length === 1);
      let records = 1;
      for (const path of [CHAT, MESSAGES]) {
        for (const end of ["fin-at", "reset-at"]) {
          for (const byte of [0, 30, 260]) {
            const what = `${path} ${end} ${byte}`;
            engine.setFault(`${end};byte=${byte}`);
            const got = await exchange(router.port, ask(path));
            const response = parseResponse(got.bytes);
            if (response?.status === 502) {
              assert.equal(response.header("x-should-retry"), "false", what);
            } else assert.notEqual(got.end, "open", `${what}: taken for whole`);
            await assert.rejects(
              path === CHAT
                ? router.openai.chat.completions.create(request)
                : router.anthropic.messages.create(request),
              what,
            );
            records += 2;
            await until("both are recorded", () => router.decisions.length === records);
            for (const { outcome } of router.decisions.slice(-2)) {
              assert.ok(
                ["upstream_truncated", "upstream_closed"].includes(outcome),
                `${what}: ${outcome}`,
              );
            }
          }
        }
      }
      engine.setFault("bad-head");
      const bad = parseResponse((await exchange(router.port, ask(CHAT))).bytes);
      assert.equal(bad?.status, 502);
      assert.equal(bad?.header("x-should-retry"), "false");
    });
  });
}

Deno.test("a terminator whose event is not finished is no end", async () => {
  await withRouter("http1", async (router, engine) => {
    let records = 0;
    for (const path of [CHAT, MESSAGES]) {
      engine.setFault("http10-close");
      const body = askBody({ stream: true, model: MODEL });
      const { length } = (await exchange(engine.port, postBytes(path, body))).bytes;
      // All of it; without the empty line after the terminator; without the end of its line.
      for (const [missing, outcome] of [[0, "completed"], [1, ENDED], [2, ENDED]] as const) {
        const cut = missing === 0 ? "" : `,fin-at;byte=${length - missing}`;
        engine.setFault(`http10-close${cut}`);
        const got = await exchange(router.port, ask(path, askBody({ stream: true })));
        const events = eventsOf(parseResponse(got.bytes)?.text ?? "");
        records++;
        await until("it is recorded", () => router.decisions.length === records);
        assert.equal(router.decisions.at(-1)?.outcome, outcome, `${path} ${missing}`);
        // The client has not seen the terminator, so our event does not finish it.
        const text = events.join("\n");
        assert.equal(text.includes(ENDED), missing > 0, `${path} ${missing}`);
        assert.equal(/\[DONE\]|message_stop/.test(text), missing === 0, `${path} ${missing}`);
        const end = new TextDecoder().decode(got.bytes.slice(-5));
        assert.equal(end, "0\r\n\r\n", `${path} ${missing}`);
      }
    }
  });
});

Deno.test("JSON whose end only the close tells is judged by its own end", async () => {
  await withRouter("http1", async (router, engine) => {
    engine.setFault("http10-close");
    const whole = await router.openai.chat.completions.create(request);
    assert.ok(whole.choices[0]?.message.content?.startsWith("Anvil token 1"));
    engine.setFault("http10-close,fin-at;byte=260");
    await assert.rejects(router.openai.chat.completions.create(request));
    await until("both are recorded", () => router.decisions.length === 2);
    assert.deepEqual(router.decisions.map(({ outcome }) => outcome), [
      "completed",
      "upstream_truncated",
    ]);
  });
});
