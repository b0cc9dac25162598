import assert from "node:assert/strict";
import { eventsOf, exchange, parseResponse } from "../fixtures/raw_client.ts";
import { TOKEN } from "../support/router_toml.ts";
import { startRouter, type TestRouter } from "../support/router.ts";
import { scriptedMember, type Write } from "../support/scripted_member.ts";
import { ask, askBody, CHAT } from "../support/stream_reader.ts";
import { until } from "../support/wait.ts";

const HEAD = "content-type: text/event-stream\r\nconnection: close\r\n\r\n";
const delta = (text: string) => `data: {"choices":[{"delta":{"content":"${text}"}}]}\n\n`;
const ENDS = "data: [DONE]\n\n";

async function streamed(router: TestRouter) {
  const got = await exchange(router.port, ask(CHAT, askBody({ stream: true })));
  const response = parseResponse(got.bytes);
  assert.ok(response !== null && response.whole);
  return response.text;
}

async function withMember(
  answer: (write: Write) => Promise<boolean>,
  run: (router: TestRouter) => Promise<void>,
) {
  await using member = scriptedMember(answer);
  await using router = await startRouter({ members: [member.port] });
  await run(router);
}

Deno.test("whole events: one that comes in parts passes when it is whole, unchanged", async () => {
  const rest = Promise.withResolvers<void>();
  const event = delta("late");
  await withMember(async (write) => {
    await write(HEAD + delta("first") + event.slice(0, 20));
    await rest.promise;
    await write(event.slice(20, -1));
    await write(`\n${ENDS}`);
    return true;
  }, async (router) => {
    const request = new Request(`${router.url}${CHAT}`, {
      method: "POST",
      headers: { authorization: `Bearer ${TOKEN}`, "content-type": "application/json" },
      body: JSON.stringify(askBody({ stream: true })),
    });
    const { body } = await fetch(request);
    assert.ok(body !== null);
    const reader = body.pipeThrough(new TextDecoderStream()).getReader();
    assert.equal((await reader.read()).value, delta("first"));
    rest.resolve();
    let text = "";
    for (let read = await reader.read(); !read.done; read = await reader.read()) text += read.value;
    assert.equal(text, event + ENDS);
    await until("it is recorded", () => router.decisions.length === 1);
    const [decision] = router.decisions;
    assert.equal(decision?.outcome, "completed");
    assert.equal(decision?.bytes_out, (delta("first") + event + ENDS).length);
  });
});

Deno.test("whole events: a half one is not passed on, and our error follows whole ones", async () => {
  for (const half of ["data: {", 'data: {"a":1}\n', "event: x", "data: [DONE]", "data: [DONE]\n"]) {
    await withMember(async (write) => {
      await write(HEAD + delta("first") + half);
      return true;
    }, async (router) => {
      const text = await streamed(router);
      assert.ok(text.startsWith(`${delta("first")}\ndata: {"error":`), `${half}: ${text}`);
      assert.match(text, /"upstream_truncated"[^\n]*\n\n$/);
      await until("it is recorded", () => router.decisions.length === 1);
      assert.equal(router.decisions[0]?.outcome, "upstream_truncated", half);
      assert.equal(router.decisions[0]?.bytes_out, text.length, half);
    });
  }
});

Deno.test("whole events: a very long one passes in parts; cut, its line is finished first", async () => {
  const long = `data: {"image":"${"x".repeat(200_000)}`;
  for (const end of ['"}\n\n' + ENDS, ""]) {
    await withMember(async (write) => {
      await write(HEAD + long);
      await write(end);
      return true;
    }, async (router) => {
      const text = await streamed(router);
      assert.equal(text.slice(0, long.length), long);
      const rest = text.slice(long.length);
      if (end !== "") assert.equal(rest, end);
      else {
        assert.ok(rest.startsWith('\n\ndata: {"error":'), rest.slice(0, 60));
        assert.equal(eventsOf(text).length, 2);
      }
    });
  }
});
