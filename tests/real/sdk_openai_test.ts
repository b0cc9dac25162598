// needs: nothing
import assert from "node:assert/strict";
import OpenAI, { type ClientOptions } from "openai";
import { type Fleet, noting, PNG, SCHEMA, SIX, TEXT_ALIAS, withFleet } from "./sdk_rig.ts";
import { ALIAS, TOKEN } from "../support/router_toml.ts";
import { until } from "../support/wait.ts";

const CHAT = "/v1/chat/completions";
const chat = { model: ALIAS, max_tokens: 6, messages: [{ role: "user", content: "hi" }] } as const;
const picture = [
  { type: "text", text: "what is this" },
  { type: "image_url", image_url: { url: `data:image/png;base64,${PNG}` } },
] as const;

function clientOf({ router }: Fleet, more: Partial<ClientOptions> = {}): OpenAI {
  const options = { apiKey: TOKEN, maxRetries: 0, logLevel: "off", ...more } as const;
  return new OpenAI({ ...options, baseURL: `${router.url}/v1` });
}

/** What the library threw. */
async function thrown(
  promise: PromiseLike<unknown>,
): Promise<InstanceType<typeof OpenAI.APIError>> {
  const error: unknown = await promise.then(() => null, (error: unknown) => error);
  assert.ok(error instanceof OpenAI.APIError, `not an API error: ${error}`);
  return error;
}

Deno.test("real, openai: chat, whole and streamed", async () => {
  await withFleet(async (fleet) => {
    const client = clientOf(fleet);
    const whole = await client.chat.completions.create({ ...chat, messages: [...chat.messages] });
    assert.equal(whole.choices[0]?.message.content, SIX);
    assert.equal(whole.choices[0]?.finish_reason, "length");
    assert.deepEqual(whole.usage, { prompt_tokens: 1, completion_tokens: 6, total_tokens: 7 });
    assert.equal(fleet.lastBody()["model"], "org/model");
    const stream = await client.chat.completions.create({
      ...chat,
      messages: [...chat.messages],
      stream: true,
      stream_options: { include_usage: true },
    });
    const pieces: string[] = [];
    let tokens = 0;
    for await (const chunk of stream) {
      const piece = chunk.choices[0]?.delta.content ?? "";
      if (piece !== "") pieces.push(piece);
      tokens = chunk.usage?.completion_tokens ?? tokens;
    }
    assert.deepEqual(pieces, ["Anvil token 1", " 2", " 3", " 4", " 5", " 6"]);
    assert.equal(tokens, 6);
    const listed: string[] = [];
    for await (const { id } of client.models.list()) listed.push(id);
    assert.deepEqual(listed.sort(), ["llm.primary", "llm.text"]);
  });
});

Deno.test("real, openai: a tool is called, and its result goes back", async () => {
  await withFleet(async (fleet) => {
    const client = clientOf(fleet);
    const asked: string[] = [];
    const runner = client.chat.completions.runTools({
      model: ALIAS,
      stream: true,
      messages: [{ role: "user", content: "call the tool" }],
      tools: [{
        type: "function",
        function: {
          name: "weather",
          description: "the weather of a city",
          parameters: { ...SCHEMA },
          parse: JSON.parse as (text: string) => { city: string },
          function: ({ city }: { city: string }) => {
            asked.push(city);
            return "rain, 7 degrees";
          },
        },
      }],
    });
    assert.equal(await runner.finalContent(), `${SIX} 7 8 9 10 11 12 13 14 15 16`);
    assert.deepEqual(asked, ["anvil city"]);
    const sent = fleet.lastBody()["messages"] as { role: string; content: string | null }[];
    assert.deepEqual(sent.map(({ role }) => role), ["user", "assistant", "tool"]);
    assert.equal(sent[2]?.content, "rain, 7 degrees");
    assert.equal(fleet.engine.counts.posts[CHAT], 2);
    const tools = [{ type: "function", function: { name: "weather" } }] as const;
    const refused = client.chat.completions.create({
      model: TEXT_ALIAS,
      messages: [{ role: "user", content: "call the tool" }],
      tools: [...tools],
    });
    assert.equal((await thrown(refused)).code, "tools_unsupported");
  });
});

Deno.test("real, openai: an image passes where it is declared, 400 where it is not", async () => {
  await withFleet(async (fleet) => {
    const client = clientOf(fleet);
    const ask = (model: string) =>
      client.chat.completions.create({
        model,
        max_tokens: 6,
        messages: [{ role: "user", content: [...picture] }],
      });
    assert.equal((await ask(ALIAS)).choices[0]?.message.content, SIX);
    const [message] = fleet.lastBody()["messages"] as { content: unknown }[];
    assert.deepEqual(message?.content, picture);
    const error = await thrown(ask(TEXT_ALIAS));
    assert.deepEqual([error.status, error.code], [400, "media_unsupported"]);
    assert.equal(fleet.engine.counts.posts[CHAT], 1);
  });
});

Deno.test("real, openai: embeddings and responses", async () => {
  await withFleet(async (fleet) => {
    const client = clientOf(fleet);
    const floats = { model: ALIAS, encoding_format: "float", dimensions: 2 } as const;
    const { data, usage } = await client.embeddings.create({ ...floats, input: ["a", "b"] });
    assert.deepEqual(data.map(({ index }) => index), [0, 1]);
    assert.equal(usage.prompt_tokens, 2);
    // By default the library asks for base64 and decodes it: the same numbers.
    const coded = await client.embeddings.create({ model: ALIAS, dimensions: 2, input: "a" });
    assert.deepEqual(coded.data[0]?.embedding, data[0]?.embedding);
    assert.equal(fleet.lastBody()["encoding_format"], "base64");
    const whole = await client.responses.create({ model: ALIAS, input: "hi" });
    assert.match(whole.output_text, /^Anvil token 1 2 3 .* 15 16$/);
    const stream = client.responses.stream({ model: ALIAS, input: "hi", max_output_tokens: 6 });
    const pieces: string[] = [];
    for await (const event of stream) {
      if (event.type === "response.output_text.delta") pieces.push(event.delta);
    }
    assert.deepEqual(pieces, ["Anvil token 1", " 2", " 3", " 4", " 5", " 6"]);
    assert.equal((await stream.finalResponse()).status, "incomplete");
  });
});

Deno.test("real, openai: errors are the library's own, with the code", async () => {
  await withFleet(async (fleet) => {
    const ask = (client: OpenAI, model: string) =>
      client.chat.completions.create({ ...chat, model, messages: [...chat.messages] });
    const unknown = await thrown(ask(clientOf(fleet, { apiKey: "anvil_nobody" }), ALIAS));
    assert.ok(unknown instanceof OpenAI.AuthenticationError);
    assert.deepEqual([unknown.status, unknown.code], [401, "token_unknown"]);
    assert.equal(unknown.type, "authentication_error");
    const nowhere = await thrown(ask(clientOf(fleet), "llm.nowhere"));
    assert.ok(nowhere instanceof OpenAI.NotFoundError);
    assert.deepEqual([nowhere.status, nowhere.code], [404, "alias_unknown"]);
    assert.deepEqual(fleet.engine.counts.posts, {});
    // A stream that breaks throws out of the loop.
    fleet.engine.setFault("no-terminator");
    const broken = await clientOf(fleet, { maxRetries: 2 }).chat.completions.create({
      ...chat,
      messages: [...chat.messages],
      stream: true,
    });
    let text = "";
    const error = await thrown((async () => {
      for await (const chunk of broken) text += chunk.choices[0]?.delta.content ?? "";
    })());
    assert.equal(error.code, "upstream_truncated");
    assert.equal(text, SIX);
    assert.deepEqual(fleet.engine.counts.posts, { [CHAT]: 1 });
  });
});

Deno.test("real, openai: a full tier is asked again after retry-after, and only then", async () => {
  await withFleet(async (fleet) => {
    const busy = await clientOf(fleet).chat.completions.create(
      { ...chat, messages: [...chat.messages], max_tokens: 100_000, stream: true },
      { headers: { "x-fixture-fault": "slow-body;ms=20" } },
    );
    const ask = (client: OpenAI) =>
      client.chat.completions.create({ ...chat, messages: [...chat.messages] });
    const full = await thrown(ask(clientOf(fleet)));
    assert.ok(full instanceof OpenAI.RateLimitError);
    assert.deepEqual([full.status, full.code], [429, "queue_full"]);
    const seconds = Number(full.headers?.get("retry-after"));
    assert.ok(seconds >= 1 && seconds <= 5, `retry-after: ${seconds}`);
    const began = performance.now();
    const statuses: number[] = [];
    const again = ask(clientOf(fleet, { maxRetries: 1, fetch: noting(statuses) }));
    await until("it was refused once", () => statuses.length === 1);
    busy.controller.abort();
    assert.equal((await again).choices[0]?.message.content, SIX);
    // Without the header its first pause is half a second at most.
    assert.ok(performance.now() - began >= seconds * 1000);
    assert.deepEqual(statuses, [429, 200]);
    const told = (await fleet.decisions(4)).map(({ code, outcome, client_retries }) =>
      `${code ?? outcome} ${client_retries}`
    );
    assert.deepEqual(told, ["queue_full 0", "queue_full 0", "client_closed 0", "completed 1"]);
  }, { in_flight: 1, queue: 0 });
});

Deno.test("real, openai: what was dispatched is not sent again, whatever the retries", async () => {
  await withFleet(async (fleet) => {
    const client = clientOf(fleet, { maxRetries: 3 });
    for (const [fault, status] of [["500", 500], ["bad-head", 502], ["reset-at", 502]] as const) {
      fleet.engine.setFault(fault);
      const before = fleet.engine.counts.posts[CHAT] ?? 0;
      const asked = client.chat.completions.create({ ...chat, messages: [...chat.messages] });
      const error = await thrown(asked);
      assert.equal(error.status, status, fault);
      assert.equal(error.headers?.get("x-should-retry"), "false", fault);
      assert.equal((fleet.engine.counts.posts[CHAT] ?? 0) - before, 1, fault);
    }
    const told = await fleet.decisions(3);
    assert.deepEqual(told.map(({ dispatched, client_retries }) => [dispatched, client_retries]), [
      [1, 0],
      [1, 0],
      [1, 0],
    ]);
  });
});

Deno.test("real, openai: an abort in the stream reaches the engine", async () => {
  await withFleet(async (fleet) => {
    fleet.engine.setFault("slow-body;ms=20");
    const stream = await clientOf(fleet).chat.completions.create({
      ...chat,
      messages: [...chat.messages],
      max_tokens: 100_000,
      stream: true,
    });
    let text = "";
    for await (const chunk of stream) {
      text += chunk.choices[0]?.delta.content ?? "";
      if (text.endsWith(" 3")) stream.controller.abort();
    }
    assert.equal(text, "Anvil token 1 2 3");
    await fleet.leftWhole(CHAT);
    const told = (await fleet.decisions(1)).map(({ outcome }) => outcome);
    assert.deepEqual(told, ["client_closed"]);
  });
});

Deno.test("real, openai: an abort before the first byte reaches the engine", async () => {
  await withFleet(async (fleet) => {
    fleet.engine.setFault("hang");
    const stop = new AbortController();
    const input = { model: ALIAS, input: "hi", stream: true } as const;
    const asked = clientOf(fleet).responses.create(input, { signal: stop.signal })
      .then(() => assert.fail("it was answered"), (error: unknown) => error);
    await fleet.atEngine("/v1/responses");
    stop.abort();
    assert.ok(await asked instanceof OpenAI.APIUserAbortError);
    await fleet.leftWhole("/v1/responses");
    const told = (await fleet.decisions(1)).map(({ outcome }) => outcome);
    assert.deepEqual(told, ["client_closed"]);
  });
});
