// needs: nothing
import assert from "node:assert/strict";
import Anthropic, { type ClientOptions } from "@anthropic-ai/sdk";
import { type Fleet, noting, PNG, SCHEMA, SIX, TEXT_ALIAS, withFleet } from "./sdk_rig.ts";
import { ALIAS, TOKEN } from "../support/router_toml.ts";
import { until } from "../support/wait.ts";

const MESSAGES = "/v1/messages";

function clientOf({ router }: Fleet, more: Partial<ClientOptions> = {}) {
  const options = { apiKey: TOKEN, maxRetries: 0, logLevel: "off", ...more } as const;
  return new Anthropic({ ...options, baseURL: router.url });
}

function ask(model: string = ALIAS): Anthropic.MessageCreateParamsNonStreaming {
  return { model, max_tokens: 6, messages: [{ role: "user", content: "hi" }] };
}

/** What the library threw. */
async function thrown(
  promise: PromiseLike<unknown>,
): Promise<InstanceType<typeof Anthropic.APIError>> {
  const error: unknown = await promise.then(() => null, (error: unknown) => error);
  assert.ok(error instanceof Anthropic.APIError, `not an API error: ${error}`);
  return error;
}

function textOf(message: Anthropic.Message): string {
  return message.content.map((block) => block.type === "text" ? block.text : "").join("");
}

Deno.test("real, anthropic: messages, whole and streamed, and their count", async () => {
  await withFleet(async (fleet) => {
    const client = clientOf(fleet);
    const whole = await client.messages.create(ask());
    assert.equal(textOf(whole), SIX);
    assert.equal(whole.stop_reason, "max_tokens");
    assert.equal(whole.usage.output_tokens, 6);
    assert.equal(fleet.lastBody()["model"], "org/model");
    const pieces: string[] = [];
    const stream = client.messages.stream(ask()).on("text", (piece) => void pieces.push(piece));
    assert.equal(await stream.finalText(), SIX);
    assert.deepEqual(pieces, ["Anvil token 1", " 2", " 3", " 4", " 5", " 6"]);
    assert.equal((await stream.finalMessage()).usage.output_tokens, 6);
    const { max_tokens: _limit, ...counted } = ask();
    assert.deepEqual(await client.messages.countTokens(counted), { input_tokens: 1 });
    const listed: string[] = [];
    for await (const { id } of client.models.list()) listed.push(id);
    assert.deepEqual(listed.sort(), ["llm.primary", "llm.text"]);
  });
});

Deno.test("real, anthropic: a tool is called, and its result goes back", async () => {
  await withFleet(async (fleet) => {
    const client = clientOf(fleet);
    const tools: Anthropic.Tool[] = [{ name: "weather", input_schema: { ...SCHEMA } }];
    const asked: Anthropic.MessageParam = { role: "user", content: "use a tool" };
    const request = { model: ALIAS, max_tokens: 6, tools };
    const called = await client.messages.stream({ ...request, messages: [asked] }).finalMessage();
    assert.equal(called.stop_reason, "tool_use");
    const [use] = called.content;
    assert.ok(use?.type === "tool_use");
    assert.equal(use.name, "weather");
    assert.deepEqual(use.input, { city: "anvil city" });
    const result = { type: "tool_result", tool_use_id: use.id, content: "rain" } as const;
    const answered = await client.messages.create({
      ...request,
      messages: [
        asked,
        { role: "assistant", content: called.content },
        { role: "user", content: [result] },
      ],
    });
    assert.equal(textOf(answered), SIX);
    const sent = fleet.lastBody()["messages"] as { content: unknown }[];
    assert.deepEqual(sent[2]?.content, [result]);
    assert.equal(fleet.engine.counts.posts[MESSAGES], 2);
    const refused = client.messages.create({ ...ask(TEXT_ALIAS), tools });
    assert.equal((await thrown(refused)).headers?.get("x-anvil-code"), "tools_unsupported");
  });
});

Deno.test("real, anthropic: an image passes where it is declared, 400 where it is not", async () => {
  await withFleet(async (fleet) => {
    const content: Anthropic.ContentBlockParam[] = [
      { type: "image", source: { type: "base64", media_type: "image/png", data: PNG } },
      { type: "text", text: "what is this" },
    ];
    const look = (model: string) =>
      clientOf(fleet).messages.create({ ...ask(model), messages: [{ role: "user", content }] });
    assert.equal(textOf(await look(ALIAS)), SIX);
    const [message] = fleet.lastBody()["messages"] as { content: unknown }[];
    assert.deepEqual(message?.content, content);
    const error = await thrown(look(TEXT_ALIAS));
    assert.deepEqual([error.status, error.type], [400, "invalid_request_error"]);
    assert.equal(error.headers?.get("x-anvil-code"), "media_unsupported");
    assert.equal(fleet.engine.counts.posts[MESSAGES], 1);
  });
});

Deno.test("real, anthropic: errors are the library's own, with the code", async () => {
  await withFleet(async (fleet) => {
    const stranger = clientOf(fleet, { apiKey: "anvil_nobody" });
    const unknown = await thrown(stranger.messages.create(ask()));
    assert.ok(unknown instanceof Anthropic.AuthenticationError);
    assert.deepEqual([unknown.status, unknown.type], [401, "authentication_error"]);
    assert.equal(unknown.headers?.get("x-anvil-code"), "token_unknown");
    const nowhere = await thrown(clientOf(fleet).messages.create(ask("llm.nowhere")));
    assert.ok(nowhere instanceof Anthropic.NotFoundError);
    assert.deepEqual([nowhere.status, nowhere.type], [404, "not_found_error"]);
    assert.equal(nowhere.headers?.get("x-anvil-code"), "alias_unknown");
    const told = nowhere.error as { request_id: string };
    assert.equal(told.request_id, nowhere.headers?.get("x-request-id"));
    assert.deepEqual(fleet.engine.counts.posts, {});
    fleet.engine.setFault("no-terminator");
    let text = "";
    const stream = clientOf(fleet, { maxRetries: 2 }).messages.stream(ask());
    stream.on("text", (piece) => void (text += piece));
    const error = await thrown(stream.finalMessage());
    assert.match(error.message, /upstream_truncated/);
    assert.equal(text, SIX);
    assert.deepEqual(fleet.engine.counts.posts, { [MESSAGES]: 1 });
  });
});

Deno.test("real, anthropic: a full tier is asked again after retry-after, and only then", async () => {
  await withFleet(async (fleet) => {
    const stopped = new AbortController();
    const hang = { headers: { "x-fixture-fault": "hang" }, signal: stopped.signal };
    const busy = clientOf(fleet).messages.create(ask(), hang)
      .then(() => assert.fail("it was answered"), (error: unknown) => error);
    await fleet.atEngine(MESSAGES);
    const full = await thrown(clientOf(fleet).messages.create(ask()));
    assert.ok(full instanceof Anthropic.RateLimitError);
    assert.deepEqual([full.status, full.type], [429, "rate_limit_error"]);
    const seconds = Number(full.headers?.get("retry-after"));
    assert.ok(seconds >= 1 && seconds <= 5, `retry-after: ${seconds}`);
    const began = performance.now();
    const statuses: number[] = [];
    const patient = clientOf(fleet, { maxRetries: 1, fetch: noting(statuses) });
    const again = patient.messages.create(ask());
    await until("it was refused once", () => statuses.length === 1);
    stopped.abort();
    assert.ok(await busy instanceof Anthropic.APIUserAbortError);
    assert.equal(textOf(await again), SIX);
    // Without the header its first pause is half a second at most.
    assert.ok(performance.now() - began >= seconds * 1000);
    assert.deepEqual(statuses, [429, 200]);
    const told = (await fleet.decisions(4)).map(({ code, outcome, client_retries }) =>
      `${code ?? outcome} ${client_retries}`
    );
    assert.deepEqual(told, ["queue_full 0", "queue_full 0", "client_closed 0", "completed 1"]);
  }, { in_flight: 1, queue: 0 });
});

Deno.test("real, anthropic: what was dispatched is not sent again, whatever the retries", async () => {
  await withFleet(async (fleet) => {
    const client = clientOf(fleet, { maxRetries: 3 });
    for (const [fault, status] of [["500", 500], ["bad-head", 502], ["reset-at", 502]] as const) {
      fleet.engine.setFault(fault);
      const before = fleet.engine.counts.posts[MESSAGES] ?? 0;
      const error = await thrown(client.messages.create(ask()));
      assert.equal(error.status, status, fault);
      assert.equal(error.headers?.get("x-should-retry"), "false", fault);
      assert.equal((fleet.engine.counts.posts[MESSAGES] ?? 0) - before, 1, fault);
    }
    const told = await fleet.decisions(3);
    assert.deepEqual(told.map(({ dispatched, client_retries }) => [dispatched, client_retries]), [
      [1, 0],
      [1, 0],
      [1, 0],
    ]);
  });
});

Deno.test("real, anthropic: an abort in the stream and before the first byte reaches the engine", async () => {
  await withFleet(async (fleet) => {
    fleet.engine.setFault("slow-body;ms=20");
    let text = "";
    const stream = clientOf(fleet).messages.stream({ ...ask(), max_tokens: 100_000 });
    stream.on("text", (piece) => {
      text += piece;
      if (piece === " 3") stream.abort();
    });
    const left: unknown = await stream.done().catch((error: unknown) => error);
    assert.ok(left instanceof Anthropic.APIUserAbortError);
    assert.equal(text, "Anvil token 1 2 3");
    await fleet.leftWhole(MESSAGES);
    fleet.engine.setFault("hang");
    const stop = new AbortController();
    const { max_tokens: _limit, ...counted } = ask();
    const asked = clientOf(fleet).messages.countTokens(counted, { signal: stop.signal })
      .then(() => assert.fail("it was answered"), (error: unknown) => error);
    await fleet.atEngine("/v1/messages/count_tokens");
    stop.abort();
    assert.ok(await asked instanceof Anthropic.APIUserAbortError);
    await fleet.leftWhole("/v1/messages/count_tokens");
    const told = (await fleet.decisions(2)).map(({ outcome }) => outcome);
    assert.deepEqual(told, ["client_closed", "client_closed"]);
  });
});
