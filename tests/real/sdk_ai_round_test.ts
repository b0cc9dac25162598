// needs: nothing
import assert from "node:assert/strict";
import { createAnthropic } from "@ai-sdk/anthropic";
import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import { APICallError, generateText, isStepCount, jsonSchema, streamText, tool } from "ai";
import { noting, PNG, SCHEMA, SIX, TEXT_ALIAS, withFleet } from "./sdk_rig.ts";
import { ALIAS, TOKEN } from "../support/router_toml.ts";
import { until } from "../support/wait.ts";

interface Provider {
  readonly path: string;
  readonly model: (url: string, alias?: string, key?: string, fetch?: typeof globalThis.fetch) =>
    | ReturnType<ReturnType<typeof createAnthropic>>
    | ReturnType<ReturnType<typeof createOpenAICompatible>>;
}

const PROVIDERS: Readonly<Record<string, Provider>> = {
  "@ai-sdk/openai-compatible": {
    path: "/v1/chat/completions",
    model: (url, alias = ALIAS, apiKey = TOKEN, own = fetch) =>
      createOpenAICompatible({ name: "anvil", baseURL: `${url}/v1`, apiKey, fetch: own })(alias),
  },
  "@ai-sdk/anthropic": {
    path: "/v1/messages",
    model: (url, alias = ALIAS, apiKey = TOKEN, own = fetch) =>
      createAnthropic({ baseURL: `${url}/v1`, apiKey, fetch: own })(alias),
  },
};

const ask = { prompt: "hi", maxOutputTokens: 6, maxRetries: 0 };

/** Status and code of what the library threw. */
async function refused(promise: PromiseLike<unknown>): Promise<readonly [number, string]> {
  const error: unknown = await promise.then(() => null, (error: unknown) => error);
  assert.ok(APICallError.isInstance(error), `not an API error: ${error}`);
  return [error.statusCode ?? 0, error.responseHeaders?.["x-anvil-code"] ?? ""];
}

for (const [name, { path, model }] of Object.entries(PROVIDERS)) {
  Deno.test(`real, ai with ${name}: a tool is called, and its result goes back`, async () => {
    await withFleet(async ({ router, engine, lastBody }) => {
      const asked: string[] = [];
      const weather = tool({
        description: "the weather of a city",
        inputSchema: jsonSchema<{ city: string }>({ ...SCHEMA }),
        execute: ({ city }) => {
          asked.push(city);
          return "rain, 7 degrees";
        },
      });
      const result = streamText({
        ...ask,
        model: model(router.url),
        prompt: "call the tool",
        tools: { weather },
        stopWhen: isStepCount(2),
      });
      assert.equal(await result.text, SIX);
      assert.deepEqual(asked, ["anvil city"]);
      assert.equal(engine.counts.posts[path], 2);
      assert.match(JSON.stringify(lastBody()["messages"]), /rain, 7 degrees/);
    });
  });

  Deno.test(`real, ai with ${name}: what is refused never reaches the engine`, async () => {
    await withFleet(async ({ router, engine }) => {
      const { url } = router;
      const image = {
        role: "user" as const,
        content: [{ type: "file" as const, mediaType: "image/png", data: PNG }],
      };
      const { prompt: _, ...rest } = ask;
      const look = generateText({ ...rest, model: model(url, TEXT_ALIAS), messages: [image] });
      assert.deepEqual(await refused(look), [400, "media_unsupported"]);
      const nowhere = generateText({ ...ask, model: model(url, "llm.nowhere") });
      assert.deepEqual(await refused(nowhere), [404, "alias_unknown"]);
      const stranger = generateText({ ...ask, model: model(url, ALIAS, "anvil_nobody") });
      assert.deepEqual(await refused(stranger), [401, "token_unknown"]);
      assert.deepEqual(engine.counts.posts, {});
    });
  });

  Deno.test(`real, ai with ${name}: a full tier is asked again after retry-after`, async () => {
    await withFleet(async ({ router, decisions }) => {
      const stop = new AbortController();
      const busy = streamText({
        ...ask,
        model: model(router.url),
        maxOutputTokens: 100_000,
        headers: { "x-fixture-fault": "slow-body;ms=20" },
        abortSignal: stop.signal,
        onError: () => {},
      }).textStream[Symbol.asyncIterator]();
      await busy.next();
      const full = generateText({ ...ask, model: model(router.url) });
      assert.deepEqual(await refused(full), [429, "queue_full"]);
      const statuses: number[] = [];
      const patient = model(router.url, ALIAS, TOKEN, noting(statuses));
      const again = generateText({ ...ask, model: patient, maxRetries: 1 });
      await until("it was refused once", () => statuses.length === 1);
      stop.abort();
      await busy.return?.();
      assert.equal((await again).text, SIX);
      assert.deepEqual(statuses, [429, 200]);
      const told = (await decisions(4)).map(({ code, outcome }) => code ?? outcome);
      assert.deepEqual(told, ["queue_full", "queue_full", "client_closed", "completed"]);
    }, { in_flight: 1, queue: 0 });
  });

  // It knows nothing of `x-should-retry: false`: with retries it does send again what the engine may
  // have done. The router dispatched each of them once; only `maxRetries: 0` keeps it at one.
  Deno.test(`real, ai with ${name}: after dispatch only maxRetries: 0 sends once`, async () => {
    await withFleet(async ({ router, engine, decisions }) => {
      engine.setFault("500");
      const once = generateText({ ...ask, model: model(router.url) });
      assert.equal((await refused(once))[0], 500);
      assert.equal(engine.counts.posts[path], 1);
      await assert.rejects(async () => {
        await generateText({ ...ask, model: model(router.url), maxRetries: 1 });
      });
      assert.equal(engine.counts.posts[path], 3);
      assert.deepEqual((await decisions(3)).map(({ dispatched }) => dispatched), [1, 1, 1]);
    });
  });
}
