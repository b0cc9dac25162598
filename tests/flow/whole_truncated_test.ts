import assert from "node:assert/strict";
import { startEngine } from "../fixtures/engine.ts";
import { eventsOf, exchange, parseResponse } from "../fixtures/raw_client.ts";
import { ALL_DIALECTS } from "../support/router_rig.ts";
import { startRouter, type TestRouter } from "../support/router.ts";
import { ALIAS } from "../support/router_toml.ts";
import { ask } from "../support/stream_reader.ts";
import { until } from "../support/wait.ts";

/** The cuts a transport can make. Bytes are counted from the response's head on. */
const CUTS = {
  "FIN": "fin-at;byte=1500",
  "RST": "reset-at;byte=1500",
  "HTTP/1.0 close": "http10-close,no-terminator",
  "HTTP/1.0 close in an event": "http10-close,half-event;event=5",
  "half event, FIN": "half-event;event=5",
  "half event, RST": "half-event;event=5;end=reset",
  "half event, clean framing": "half-event;event=5;end=clean",
  "no terminator, clean framing": "no-terminator",
} as const;

const messages = [{ role: "user" as const, content: "x" }];

interface Speaker {
  readonly path: string;
  readonly body: Readonly<Record<string, unknown>>;
  /** Reads a stream to its end with the real client library. */
  readonly read: (router: TestRouter) => Promise<unknown>;
  /** What only a whole stream holds. */
  readonly terminator: RegExp;
}

async function drain(stream: AsyncIterable<unknown>): Promise<void> {
  for await (const _ of stream);
}

const SPEAKERS: Readonly<Record<string, Speaker>> = {
  "openai-chat": {
    path: "/v1/chat/completions",
    body: { messages, max_tokens: 40 },
    read: async ({ openai }) =>
      await drain(
        await openai.chat.completions.create({
          model: ALIAS,
          messages,
          max_tokens: 40,
          stream: true,
        }),
      ),
    terminator: /\[DONE\]|"finish_reason":"/,
  },
  "openai-completions": {
    path: "/v1/completions",
    body: { prompt: "x", max_tokens: 40 },
    read: async ({ openai }) =>
      await drain(
        await openai.completions.create({
          model: ALIAS,
          prompt: "x",
          max_tokens: 40,
          stream: true,
        }),
      ),
    terminator: /\[DONE\]|"finish_reason":"/,
  },
  "openai-responses": {
    path: "/v1/responses",
    body: { input: "x", max_output_tokens: 40 },
    read: async ({ openai }) =>
      await drain(
        await openai.responses.create({
          model: ALIAS,
          input: "x",
          max_output_tokens: 40,
          stream: true,
        }),
      ),
    terminator: /response\.(completed|failed|incomplete)/,
  },
  "openai-responses, accumulated": {
    path: "/v1/responses",
    body: { input: "x", max_output_tokens: 40 },
    read: async ({ openai }) =>
      await openai.responses.stream({ model: ALIAS, input: "x", max_output_tokens: 40 })
        .finalResponse(),
    terminator: /response\.(completed|failed|incomplete)/,
  },
  "anthropic-messages": {
    path: "/v1/messages",
    body: { messages, max_tokens: 40 },
    read: ({ anthropic }) =>
      anthropic.messages.stream({ model: ALIAS, messages, max_tokens: 40 }).finalMessage(),
    terminator: /message_stop/,
  },
};

for (const [dialect, speaker] of Object.entries(SPEAKERS)) {
  Deno.test(`truncation matrix, ${dialect}: the library throws, the record says so, nothing is forged`, async () => {
    const engine = await startEngine();
    try {
      await using router = await startRouter({
        members: [engine.port],
        tier: { dialects: ALL_DIALECTS },
      });
      await speaker.read(router); // whole: the library has nothing to say against it
      for (const [cut, fault] of Object.entries(CUTS)) {
        const what = `${dialect}, ${cut}`;
        engine.setFault(fault);
        const before = router.decisions.length;
        await assert.rejects(speaker.read(router), /./, `${what}: the library did not throw`);
        const body = { model: ALIAS, stream: true, ...speaker.body };
        const response = parseResponse(
          (await exchange(router.port, ask(speaker.path, body))).bytes,
        );
        assert.equal(response?.status, 200, what);
        assert.equal(response?.whole, true, what);
        const text = response?.text ?? "";
        assert.equal(speaker.terminator.test(text), false, `${what}: a terminator was forged`);
        const last = JSON.parse(eventsOf(text).at(-1) ?? "null");
        assert.equal(last.error.code, "upstream_truncated", what);
        await until("both are recorded", () => router.decisions.length === before + 2);
        for (const decision of router.decisions.slice(before)) {
          assert.equal(decision.outcome, "upstream_truncated", what);
          assert.equal(decision.stream, true, what);
          assert.equal(decision.dispatched, 1, what);
        }
      }
      await router.quiet();
    } finally {
      await engine.close();
    }
  });
}

Deno.test("a cut Responses stream ends in the error event that API defines", async () => {
  const engine = await startEngine();
  try {
    await using router = await startRouter({
      members: [engine.port],
      tier: { dialects: ALL_DIALECTS },
    });
    engine.setFault("half-event;event=6;end=reset");
    const body = { model: ALIAS, input: "x", stream: true };
    const { bytes } = await exchange(router.port, ask("/v1/responses", body));
    const text = parseResponse(bytes)?.text ?? "";
    assert.match(text, /\n\nevent: error\ndata: [^\n]*\n\n$/);
    const last = JSON.parse(eventsOf(text).at(-1) ?? "null");
    assert.equal(last.type, "error");
    assert.equal(last.code, "upstream_truncated");
    assert.equal(typeof last.message, "string");
    assert.equal(last.param, null);
    // Events 0 to 5 were whole; number 6 was the half one, which counts for nothing.
    assert.equal(last.sequence_number, 6);
    // Libraries that look at `error` alone throw too.
    assert.equal(last.error.code, "upstream_truncated");
  } finally {
    await engine.close();
  }
});
