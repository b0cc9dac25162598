// needs: nothing
import assert from "node:assert/strict";
import { createAnthropic } from "@ai-sdk/anthropic";
import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import { APICallError, embed, generateText, jsonSchema, streamText, type ToolSet } from "ai";
import { type Engine, startEngine } from "../fixtures/engine.ts";
import { generatedText } from "../fixtures/generation.ts";
import { ALL_DIALECTS } from "../support/router_rig.ts";
import { type RouterProcess, withRouterProcess } from "../support/router_process.ts";
import { ALIAS, TOKEN } from "../support/router_toml.ts";
import { until } from "../support/wait.ts";

const PIXEL =
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";

const tools: ToolSet = {
  weather: {
    description: "The weather of a place",
    inputSchema: jsonSchema({ type: "object", properties: { place: { type: "string" } } }),
  },
};

const PROVIDERS = {
  "@ai-sdk/openai-compatible": {
    path: "/v1/chat/completions",
    model: (url: string, alias: string) =>
      createOpenAICompatible({ name: "anvil", baseURL: `${url}/v1`, apiKey: TOKEN })(alias),
  },
  "@ai-sdk/anthropic": {
    path: "/v1/messages",
    model: (url: string, alias: string) =>
      createAnthropic({ baseURL: `${url}/v1`, apiKey: TOKEN })(alias),
  },
};

async function withProcess(
  run: (router: RouterProcess, engine: Engine) => Promise<void>,
): Promise<void> {
  const engine = await startEngine({ rate: 200 });
  try {
    await withRouterProcess(
      { members: [engine.port], tier: { dialects: ALL_DIALECTS } },
      (router) => run(router, engine),
    );
  } finally {
    await engine.close();
  }
}

for (const [name, { path, model }] of Object.entries(PROVIDERS)) {
  Deno.test(`real, ai with ${name}: chat, stream, tools, images, errors, cuts, aborts`, async () => {
    await withProcess(async (router, engine) => {
      const common = {
        model: model(router.url, ALIAS),
        maxRetries: 0,
        maxOutputTokens: 9,
      };
      const whole = await generateText({ ...common, prompt: "x" });
      assert.equal(whole.text, generatedText(9));
      const stream = streamText({ ...common, prompt: "x" });
      assert.equal(await stream.text, generatedText(9));
      const called = await generateText({
        ...common,
        prompt: "x",
        tools,
        toolChoice: { type: "tool", toolName: "weather" },
      });
      assert.equal(called.toolCalls[0]?.toolName, "weather");
      await generateText({
        ...common,
        messages: [{
          role: "user",
          content: [
            { type: "text", text: "what is it?" },
            { type: "file", mediaType: "image/png", data: Uint8Array.fromBase64(PIXEL) },
          ],
        }],
      });
      assert.ok(new TextDecoder().decode(engine.last?.body).includes(PIXEL));
      await assert.rejects(
        generateText({ ...common, model: model(router.url, "nobody"), prompt: "x" }),
        (error) => APICallError.isInstance(error) && error.statusCode === 404,
      );
      // A cut stream is an error part, never a quiet end.
      for (const fault of ["half-event;event=5", "no-terminator"]) {
        engine.setFault(fault, { times: 1 });
        const errors: unknown[] = [];
        const cut = streamText({
          ...common,
          prompt: "x",
          onError: ({ error }) => void errors.push(error),
        });
        await cut.consumeStream();
        assert.notEqual(errors.length, 0, fault);
      }
      const leave = new AbortController();
      const endless = streamText({
        ...common,
        maxOutputTokens: 5000,
        prompt: "x",
        abortSignal: leave.signal,
        onError: () => {},
      });
      for await (const _ of endless.textStream) {
        leave.abort();
        break;
      }
      await engine.until((event) => event.kind === "client_closed" && event.during === path);
      await until("no lease is held", async () => (await router.status()).open === 0);
    });
  });
}

Deno.test("real, ai with @ai-sdk/openai-compatible: embeddings", async () => {
  await withProcess(async (router) => {
    const provider = createOpenAICompatible({
      name: "anvil",
      baseURL: `${router.url}/v1`,
      apiKey: TOKEN,
    });
    const { embedding } = await embed({ model: provider.embeddingModel(ALIAS), value: "a" });
    assert.equal(embedding.length, 8);
  });
});
