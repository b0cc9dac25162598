import assert from "node:assert/strict";
import { type Engine, startEngine } from "../fixtures/engine.ts";
import { join } from "../fixtures/connection.ts";
import { exchange, parseResponse } from "../fixtures/raw_client.ts";
import { startRouter, type TestRouter } from "../support/router.ts";
import { ALIAS, OBSERVER, TOKEN } from "../support/router_toml.ts";
import { ask, askBody, CHAT, get, MESSAGES, StreamReader } from "../support/stream_reader.ts";
import { within } from "../support/wait.ts";

const encoder = new TextEncoder();

async function withRouter(
  run: (router: TestRouter, engine: Engine) => Promise<void>,
  limits: Record<string, number> = {},
) {
  const engine = await startEngine();
  try {
    await using router = await startRouter({
      members: [engine.port],
      limits,
      tier: { max_output_tokens: 1000 },
    });
    await run(router, engine);
    await router.quiet();
    assert.equal(engine.counts.completed, 0, "something reached the engine whole");
  } finally {
    await engine.close();
  }
}

/** Asserts status, stable code and the error shape of the family; gives the message. */
async function refused(
  router: TestRouter,
  request: Uint8Array,
  status: number,
  code: string,
  family: "openai" | "anthropic" = "openai",
): Promise<string> {
  const got = await within(code, exchange(router.port, request));
  const response = parseResponse(got.bytes);
  assert.ok(response !== null, `${code}: no response head`);
  assert.equal(response.status, status, `${code}: ${response.text}`);
  assert.equal(response.header("x-anvil-code"), code);
  assert.equal(response.header("content-type"), "application/json");
  assert.equal(response.header("x-should-retry"), undefined, "nothing was dispatched");
  assert.equal(response.header("access-control-allow-origin"), "*");
  assert.match(response.header("x-request-id") ?? "", /^[A-Za-z0-9._-]+$/);
  const body = JSON.parse(response.text);
  assert.equal(body.error.code, code);
  assert.equal(typeof body.error.message, "string");
  assert.equal(typeof body.error.type, "string");
  if (family === "anthropic") {
    assert.equal(body.type, "error");
    assert.equal(body.request_id, response.header("x-request-id"));
  } else {
    assert.equal(body.type, undefined);
    assert.equal(body.error.param, null);
  }
  return body.error.message;
}

const families = [[CHAT, "openai"], [MESSAGES, "anthropic"]] as const;

Deno.test("credentials: none, wrong, malformed, wrong scope, wrong scheme", async () => {
  await withRouter(async (router) => {
    for (const [path, family] of families) {
      const as = (headers: Record<string, string>) => ask(path, askBody(), headers);
      for (
        const bad of [
          "",
          "Basic YTpi",
          "Bearer",
          "Bearer ",
          `Bearer ${TOKEN} ${TOKEN}`,
          `Bearer ${TOKEN}, Bearer ${TOKEN}`,
        ]
      ) await refused(router, as({ authorization: bad }), 401, "token_missing", family);
      for (const bad of [`${TOKEN}x`, TOKEN.slice(0, -1), TOKEN.toUpperCase(), "x"]) {
        await refused(router, as({ authorization: `Bearer ${bad}` }), 401, "token_unknown", family);
        const key = { authorization: "", "x-api-key": bad };
        await refused(router, as(key), 401, "token_unknown", family);
      }
      const observer = as({ authorization: `Bearer ${OBSERVER}` });
      await refused(router, observer, 403, "scope_missing", family);
      // A wrong bearer token is not made good by a right key beside it.
      const both = as({ authorization: "Bearer x", "x-api-key": TOKEN });
      await refused(router, both, 401, "token_unknown", family);
    }
    const decisions = router.decisions;
    assert.ok(decisions.every(({ outcome }) => outcome === "refused_auth"));
    assert.ok(decisions.every(({ dispatched }) => dispatched === 0));
  });
});

Deno.test("bodies: truncated, not JSON, without model, wrong types, twice, too much", async () => {
  await withRouter(async (router) => {
    const whole = JSON.stringify(askBody());
    const cases: readonly (readonly [body: string, code: string])[] = [
      [whole.slice(0, -1), "body_truncated"],
      [whole.slice(0, 20), "body_truncated"],
      ["", "model_missing"],
      ["nonsense", "body_not_object"],
      ["{nonsense", "body_not_json"],
      [`${whole} x`, "body_not_json"],
      [`${whole}${whole}`, "body_not_json"],
      ["[]", "body_not_object"],
      ["null", "body_not_object"],
      [`"${ALIAS}"`, "body_not_object"],
      ["{}", "model_missing"],
      [`{"messages":[{"model":"${ALIAS}"}]}`, "model_missing"],
      [`{"Model":"${ALIAS}"}`, "model_missing"],
      [`{"model":7}`, "model_not_string"],
      [`{"model":null}`, "model_not_string"],
      [`{"model":""}`, "model_not_string"],
      [`{"model":["${ALIAS}"]}`, "model_not_string"],
      [`{"model":"${"m".repeat(2000)}"}`, "model_too_long"],
      [`{"model":"${ALIAS}","model":"${ALIAS}"}`, "duplicate_key"],
      [`{"model":"${ALIAS}","mod\\u0065l":"x"}`, "duplicate_key"],
      [`{"model":"${ALIAS}","stream":true,"stream":false}`, "duplicate_key"],
      [`{"model":"${ALIAS}","x":${"[".repeat(5000)}${"]".repeat(5000)}}`, "body_too_deep"],
      [`{"model":"${ALIAS}","max_tokens":5000}`, "output_over_limit"],
      [
        `{"model":"${ALIAS}","messages":[{"role":"user","content":[{"type":"input_audio"}]}]}`,
        "media_unsupported",
      ],
    ];
    for (const [path, family] of families) {
      for (const [body, code] of cases) {
        await refused(router, ask(path, body), 400, code, family);
      }
      await refused(
        router,
        ask(path, askBody({ model: "llm.other" })),
        404,
        "alias_unknown",
        family,
      );
      // The served model's own name is no alias, nor is what every object has.
      for (const model of ["org/model", "constructor", "__proto__", "toString"]) {
        await refused(router, ask(path, askBody({ model })), 404, "alias_unknown", family);
      }
      const gzip = { "content-encoding": "gzip" };
      await refused(
        router,
        ask(path, askBody(), gzip),
        415,
        "content_encoding_unsupported",
        family,
      );
    }
  });
});

Deno.test("a body cut by the client is no request; one that says too much is refused unread", async () => {
  await withRouter(async (router) => {
    // content-length promises more than comes: the client is gone, nothing is sent.
    const cut = ask(CHAT).slice(0, -10);
    using short = await StreamReader.open(router.port, cut);
    short.close();
    const size = 65 * 1024 * 1024;
    const head = (more: string) =>
      encoder.encode(
        `POST ${CHAT} HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${TOKEN}\r\n${more}\r\n\r\n`,
      );
    await refused(router, head(`content-length: ${size}`), 413, "body_too_large");
    const claude = encoder.encode(
      `POST ${MESSAGES} HTTP/1.1\r\nhost: x\r\nx-api-key: ${TOKEN}\r\ncontent-length: ${size}\r\n\r\n`,
    );
    await refused(router, claude, 413, "body_too_large", "anthropic");
    const start = encoder.encode(`{"model":"${ALIAS}","padding":"`);
    const filler = new Uint8Array(size - start.length).fill(0x78);
    const chunked = join([
      head("transfer-encoding: chunked"),
      encoder.encode(`${size.toString(16)}\r\n`),
      start,
      filler,
    ]);
    await refused(router, chunked, 413, "body_too_large");
  });
});

Deno.test("paths and methods: unknown, doubled, dotted, encoded, absolute", async () => {
  await withRouter(async (router) => {
    const paths = [
      "/",
      "/v1",
      "/v1/chat/completions/",
      "//v1/chat/completions",
      "/v1//chat/completions",
      "/v1/../v1/chat/completions",
      "/v1/./chat/completions",
      "/v1/chat%2Fcompletions",
      "/V1/chat/completions",
      "/v1/chat/completions;x=1",
      "/v1/chat/completions%00",
      "/v1/router/status",
      "/livez",
      "/v1/admin/transition",
    ];
    for (const path of paths) await refused(router, ask(path), 404, "route_unknown");
    await refused(router, ask("/v1/messages/nothing"), 404, "route_unknown", "anthropic");
    const claude = ask("/nothing", askBody(), { "anthropic-version": "2023-06-01" });
    await refused(router, claude, 404, "route_unknown", "anthropic");
    await refused(router, get(CHAT), 405, "method_not_allowed");
    await refused(router, get(MESSAGES), 405, "method_not_allowed", "anthropic");
    await refused(router, ask("/v1/models"), 405, "method_not_allowed");
    await refused(router, get("/v1/models/none"), 404, "alias_unknown");
  });
});

Deno.test("an absolute-form target is taken by its path; its host decides nothing", async () => {
  const engine = await startEngine();
  try {
    await using router = await startRouter({ members: [engine.port] });
    const got = await exchange(router.port, ask(`http://192.0.2.1${CHAT}?a=1`));
    const response = parseResponse(got.bytes);
    assert.equal(response?.status, 200, response?.text);
    assert.equal(engine.last?.head.target, `${CHAT}?a=1`);
    const dots = await exchange(router.port, ask(`http://192.0.2.1/v1/../v1/chat/completions`));
    assert.equal(parseResponse(dots.bytes)?.status, 404);
    await router.quiet();
  } finally {
    await engine.close();
  }
});

Deno.test("heads that mean two things, or nothing: refused by code, the connection closed, never relayed", async () => {
  await withRouter(async (router, engine) => {
    const body = JSON.stringify(askBody());
    const raw = (lines: readonly string[], rest = body) =>
      encoder.encode(
        [
          `POST ${CHAT} HTTP/1.1`,
          "host: x",
          `authorization: Bearer ${TOKEN}`,
          ...lines,
          "",
          rest,
        ].join("\r\n"),
      );
    const length = `content-length: ${body.length}`;
    const start = (line: string, ...lines: string[]) =>
      encoder.encode([line, ...lines, "", ""].join("\r\n"));
    const hostile: Readonly<Record<string, readonly [Uint8Array, number, string]>> = {
      "64 KiB of headers": [raw([`x-big: ${"x".repeat(66_000)}`, length]), 431, "head_too_large"],
      "200 header lines": [
        raw([...Array(200).keys()].map((i) => `x-${i}: 1`).concat(length)),
        431,
        "head_too_large",
      ],
      "CL and TE": [
        raw([length, "transfer-encoding: chunked"], `0\r\n\r\n`),
        400,
        "framing_ambiguous",
      ],
      "TE and CL": [
        raw(["transfer-encoding: chunked", length], `0\r\n\r\n`),
        400,
        "framing_ambiguous",
      ],
      "two lengths": [raw([length, "content-length: 5"]), 400, "framing_ambiguous"],
      "one length twice": [raw([length, length]), 400, "framing_ambiguous"],
      "negative length": [raw(["content-length: -1"]), 400, "framing_ambiguous"],
      "obs-fold": [raw([length, "x-a: 1", " folded"]), 400, "head_malformed"],
      "space before colon": [raw([`content-length : ${body.length}`]), 400, "head_malformed"],
      "bare LF": [encoder.encode("GET / HTTP/1.1\nhost: x\n\n"), 400, "head_malformed"],
      "NUL": [raw([length, "x-a: \0"]), 400, "head_malformed"],
      "TE gzip, chunked": [
        raw(["transfer-encoding: gzip, chunked"], "0\r\n\r\n"),
        501,
        "transfer_encoding_unsupported",
      ],
      "TE identity": [
        raw(["transfer-encoding: identity"]),
        501,
        "transfer_encoding_unsupported",
      ],
      "bad chunk size": [
        raw(["transfer-encoding: chunked"], "zz\r\n{}\r\n0\r\n\r\n"),
        400,
        "body_framing_malformed",
      ],
      "no host": [start(`GET ${CHAT} HTTP/1.1`), 400, "host_invalid"],
      "two hosts": [raw([length, "host: y"]), 400, "host_invalid"],
      "long target": [
        start(`GET /${"x".repeat(17_000)} HTTP/1.1`, "host: x"),
        414,
        "target_too_long",
      ],
      "HTTP/2 preface": [start("PRI * HTTP/2.0", "", "SM"), 505, "version_unsupported"],
      "another expectation": [raw([length, "expect: tea"]), 417, "expectation_unsupported"],
    };
    const before = { ...engine.counts.posts };
    for (const [what, [request, status, code]] of Object.entries(hostile)) {
      const got = await within(what, exchange(router.port, request), 5000);
      const response = parseResponse(got.bytes);
      assert.equal(response?.status, status, what);
      assert.equal(response?.header("x-anvil-code"), code, what);
      assert.equal(response?.header("connection"), "close", what);
      assert.equal(JSON.parse(response?.text ?? "").error.code, code, what);
    }
    assert.deepEqual(engine.counts.posts, before);
  });
});

Deno.test("a head that comes too slowly: 408; a connection that idles: closed", async () => {
  await withRouter(async (router) => {
    const request = ask("/nothing");
    using slow = await StreamReader.open(router.port, request.slice(0, 20));
    using silent = await StreamReader.open(router.port, new Uint8Array(0));
    using kept = await StreamReader.open(router.port, request);
    assert.ok(await kept.readUntil("route_unknown"));
    const [got] = await within(
      "both ends",
      Promise.all([slow.rest(), silent.drain(), kept.drain()]),
      8000,
    );
    const response = parseResponse(got.bytes);
    assert.equal(response?.status, 408);
    assert.equal(response?.header("x-anvil-code"), "head_too_slow");
    assert.deepEqual(router.decisions, []);
  }, { head_seconds: 1, idle_seconds: 1 });
});

Deno.test("a body that comes too slowly: 408, and the lease is free", async () => {
  await withRouter(async (router, engine) => {
    // Before dispatch: a small body stays away.
    const small = ask(CHAT);
    // After dispatch: a large one stops in the middle, its model known.
    const large = ask(CHAT, askBody({ padding: "x".repeat(2_000_000) }));
    for (const part of [small.slice(0, -10), large.slice(0, 1_200_000)]) {
      using reader = await StreamReader.open(router.port, part);
      const got = await within("408", reader.rest(), 5000);
      const response = parseResponse(got.bytes);
      assert.equal(response?.status, 408);
      assert.equal(response?.header("x-anvil-code"), "body_too_slow");
      assert.equal(JSON.parse(response?.text ?? "").error.code, "body_too_slow");
    }
    assert.deepEqual(router.decisions.map(({ outcome, code }) => [outcome, code]), [
      ["refused_request", "body_too_slow"],
      ["refused_request", "body_too_slow"],
    ]);
    await within(
      "the engine saw it break off",
      (async () => {
        while (engine.counts.partial === 0) await new Promise((done) => setTimeout(done, 5));
      })(),
    );
  }, { body_seconds: 1 });
});

Deno.test("a browser may ask whether it may ask, without a token", async () => {
  await withRouter(async (router) => {
    const answer = await fetch(`${router.url}${CHAT}`, {
      method: "OPTIONS",
      headers: { origin: "https://example.org", "access-control-request-method": "POST" },
    });
    assert.equal(answer.status, 204);
    assert.equal(answer.headers.get("access-control-allow-origin"), "*");
    assert.match(answer.headers.get("access-control-allow-headers") ?? "", /authorization/);
  });
});
