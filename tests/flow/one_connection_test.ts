import assert from "node:assert/strict";
import { join } from "../fixtures/connection.ts";
import { type Engine, startEngine } from "../fixtures/engine.ts";
import { parseResponse } from "../fixtures/raw_client.ts";
import { startRouter, type TestRouter } from "../support/router.ts";
import { TOKEN } from "../support/router_toml.ts";
import { ask, askBody, CHAT, get, StreamReader } from "../support/stream_reader.ts";
import { until, within } from "../support/wait.ts";

async function withRouter(run: (router: TestRouter, engine: Engine) => Promise<void>) {
  const engine = await startEngine();
  try {
    await using router = await startRouter({ members: [engine.port] });
    await run(router, engine);
    await router.quiet();
  } finally {
    await engine.close();
  }
}

/** The statuses of the responses that stand one after the other in `bytes`. */
function statuses(bytes: Uint8Array): number[] {
  const found: number[] = [];
  for (let rest = bytes; rest.length > 0;) {
    const response = parseResponse(rest);
    if (response === null || !response.whole) break;
    found.push(response.status);
    rest = rest.subarray(response.size);
  }
  return found;
}

/** Sends all of it, reads until `count` responses are whole or the connection ends. */
async function conversation(port: number, requests: readonly Uint8Array[], count: number) {
  using reader = await StreamReader.open(port, join([...requests]));
  const encoder = new TextEncoder();
  await within(
    "the answers",
    reader.readWhile(() => statuses(encoder.encode(reader.text)).length < count),
  );
  return statuses(encoder.encode(reader.text));
}

Deno.test("requests sent one behind the other are answered in order, each once", async () => {
  await withRouter(async (router, engine) => {
    const requests = [
      ask(`${CHAT}?n=1`),
      ask("/nothing"),
      ask(`${CHAT}?n=2`, askBody({ stream: true })),
      get("/v1/models"),
      ask(`${CHAT}?n=3`, askBody({ model: "none" })),
      ask(`${CHAT}?n=4`),
    ];
    assert.deepEqual(await conversation(router.port, requests, 6), [200, 404, 200, 200, 404, 200]);
    const targets = engine.events.flatMap((event) =>
      event.kind === "request" && event.method === "POST" ? [event.target] : []
    );
    assert.deepEqual(targets, [`${CHAT}?n=1`, `${CHAT}?n=2`, `${CHAT}?n=4`]);
  });
});

Deno.test("the unread body of a refused request is never taken for the next request", async () => {
  await withRouter(async (router, engine) => {
    const inner = new TextDecoder().decode(ask(`${CHAT}?smuggled`));
    for (const size of [0, 100_000, 1_500_000]) {
      const hidden = `${inner}${"x".repeat(size)}`;
      const refused: readonly Uint8Array[] = [
        ask(CHAT, hidden, { authorization: "Bearer wrong" }),
        ask("/nothing", hidden),
        ask(CHAT, hidden, { "content-encoding": "gzip" }),
        ask(CHAT, hidden),
      ];
      for (const [index, request] of refused.entries()) {
        const got = await conversation(router.port, [request, ask(CHAT)], 2);
        const [first, second, ...more] = got;
        assert.deepEqual([more, first], [[], [401, 404, 415, 400][index]]);
        // The connection may end after the refusal; if it goes on, it goes on rightly.
        assert.ok(second === undefined || second === 200, `${second}`);
      }
    }
    assert.equal(
      engine.events.some((e) => e.kind === "request" && /smuggled/.test(e.target)),
      false,
    );
  });
});

Deno.test("expect: 100-continue: the body is asked for; the header stops here", async () => {
  await withRouter(async (router, engine) => {
    const body = JSON.stringify(askBody());
    const head = (token: string) =>
      new TextEncoder().encode(
        `POST ${CHAT} HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${token}\r\n` +
          `content-length: ${body.length}\r\nexpect: 100-continue\r\n\r\n`,
      );
    using good = await StreamReader.open(router.port, head(TOKEN));
    assert.ok(await within("the go-ahead", good.readUntil("HTTP/1.1 100")));
    await good.send(new TextEncoder().encode(body));
    assert.ok(await within("the answer", good.readUntil("HTTP/1.1 200")));
    assert.equal(engine.last?.head.lines.some((line) => /^expect/i.test(line)), false);
    using bad = await StreamReader.open(router.port, head("wrong"));
    assert.ok(await within("the refusal", bad.readUntil("HTTP/1.1 401")));
    assert.equal(bad.text.includes("100 Continue"), false, "nobody wanted that body");
    assert.equal(engine.counts.posts[CHAT], 1);
    await until("both are recorded", () => router.decisions.length === 2);
  });
});
