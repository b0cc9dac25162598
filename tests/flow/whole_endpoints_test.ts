import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import { createHash, randomBytes } from "node:crypto";
import { toFile } from "openai";
import { partsOf, waveFile } from "../fixtures/audio.ts";
import { join } from "../fixtures/connection.ts";
import { embed } from "../fixtures/embeddings.ts";
import { type Engine, startEngine } from "../fixtures/engine.ts";
import { headerOf } from "../fixtures/http_wire.ts";
import { exchange, parseResponse } from "../fixtures/raw_client.ts";
import { ALL_DIALECTS } from "../support/router_rig.ts";
import { startRouter, type TestRouter } from "../support/router.ts";
import { ALIAS, MODEL, TOKEN } from "../support/router_toml.ts";
import { ask, get } from "../support/stream_reader.ts";

const encoder = new TextEncoder();
const PATH = "/v1/audio/transcriptions";

async function withRouter(
  run: (router: TestRouter, engine: Engine) => Promise<void>,
  limits: Readonly<Record<string, unknown>> = {},
) {
  const engine = await startEngine();
  try {
    await using router = await startRouter({
      members: [engine.port],
      limits,
      tier: { dialects: ALL_DIALECTS, context_tokens: 4096, max_output_tokens: 1024 },
    });
    await run(router, engine);
    await router.quiet();
  } finally {
    await engine.close();
  }
}

Deno.test("embeddings, rerank, speech and transcription through the openai client", async () => {
  await withRouter(async ({ openai }, engine) => {
    const { data } = await openai.embeddings.create({ model: ALIAS, input: ["a", "b"] });
    assert.deepEqual(data.map(({ embedding }) => embedding), [
      [...embed("a", 8)],
      [...embed("b", 8)],
    ]);
    const ranked = await openai.post("/rerank", {
      body: { model: ALIAS, query: "red fox", documents: ["blue whale", "red fox"] },
    }) as { results: { index: number }[] };
    assert.equal(ranked.results[0]?.index, 1);
    const speech = await openai.audio.speech.create({ model: ALIAS, input: "x", voice: "alloy" });
    assert.deepEqual(new Uint8Array(await speech.arrayBuffer()), waveFile());
    const heard = await openai.audio.transcriptions.create({
      model: ALIAS,
      file: await toFile(waveFile(), "tone.wav"),
    });
    assert.match(heard.text, /^file=tone\.wav size=844 model=org\/model$/);
    assert.equal(engine.counts.posts[PATH], 1);
  });
});

/** A form: fields and files in the order given. */
function form(
  boundary: string,
  parts: readonly (readonly [name: string, value: string | Uint8Array])[],
): Uint8Array {
  return join([
    ...parts.flatMap(([name, value]) => [
      encoder.encode(
        `--${boundary}\r\ncontent-disposition: form-data; name="${name}"${
          typeof value === "string" ? "" : '; filename="model"\r\ncontent-type: audio/wav'
        }\r\n\r\n`,
      ),
      typeof value === "string" ? encoder.encode(value) : value,
      encoder.encode("\r\n"),
    ]),
    encoder.encode(`--${boundary}--\r\n`),
  ]);
}

function upload(body: Uint8Array, boundary: string, length = body.length): Uint8Array {
  const head = `POST ${PATH} HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${TOKEN}\r\n` +
    `content-type: multipart/form-data; boundary=${boundary}\r\ncontent-length: ${length}\r\n\r\n`;
  return join([encoder.encode(head), body]);
}

async function send(router: TestRouter, bytes: Uint8Array) {
  const response = parseResponse((await exchange(router.port, bytes)).bytes);
  assert.ok(response !== null);
  return response;
}

Deno.test("a form crosses byte for byte, wherever its model stands and however big its file is", async () => {
  await withRouter(async (router, engine) => {
    // What looks like a delimiter or a field inside the file is neither.
    const file = join([
      randomBytes(5 * 1024 * 1024),
      encoder.encode(`\r\n--xyz\r\ncontent-disposition: form-data; name="model"\r\n\r\nfake\r\n--`),
      randomBytes(100_000),
    ]);
    const digest = createHash("sha256").update(file).digest("hex");
    for (
      const order of [
        [["model", ALIAS], ["file", file], ["language", "en"]],
        [["language", "en"], ["file", file], ["model", ALIAS]],
      ] as const
    ) {
      const response = await send(router, upload(form("xyz9", order), "xyz9"));
      assert.equal(response.status, 200, response.text);
      assert.ok(engine.last !== null);
      const expected = form(
        "xyz9",
        order.map(([name, value]) => [name, name === "model" ? MODEL : value] as const),
      );
      assert.equal(Number(headerOf(engine.last.head, "content-length")), expected.length);
      assert.deepEqual(engine.last.body.length, expected.length);
      const parts = partsOf(headerOf(engine.last.head, "content-type") ?? "", engine.last.body);
      const got = parts?.find(({ name }) => name === "file")?.bytes ?? new Uint8Array(0);
      assert.equal(createHash("sha256").update(got).digest("hex"), digest);
      assert.equal(Buffer.compare(engine.last.body, expected), 0);
    }
  });
});

Deno.test("forms that are refused: no model, two, another boundary, a cut end", async () => {
  await withRouter(async (router, engine) => {
    const file = randomBytes(3000);
    const whole = form("b1", [["model", ALIAS], ["file", file]]);
    const cases: readonly (readonly [Uint8Array, number, string])[] = [
      [upload(form("b1", [["file", file]]), "b1"), 400, "model_missing"],
      [upload(form("b1", [["model", ALIAS], ["model", ALIAS]]), "b1"), 400, "duplicate_key"],
      [upload(form("b1", [["model", ""]]), "b1"), 400, "model_not_string"],
      [upload(form("b1", [["model", "nobody"], ["file", file]]), "b1"), 404, "alias_unknown"],
      [upload(whole, "other"), 400, "body_truncated"],
      [upload(whole.subarray(0, whole.length - 8), "b1"), 400, "body_truncated"],
      [ask(PATH, { model: ALIAS }), 415, "content_type_unsupported"],
    ];
    for (const [bytes, status, code] of cases) {
      const response = await send(router, bytes);
      assert.deepEqual([response.status, response.header("x-anvil-code")], [status, code]);
    }
    assert.equal(engine.counts.posts[PATH] ?? 0, 0, "none of them reached the engine");
  });
});

Deno.test("a big form that turns out bad never reaches the engine whole", async () => {
  await withRouter(async (router, engine) => {
    const big = randomBytes(3 * 1024 * 1024);
    const twice = form("b2", [["model", ALIAS], ["file", big], ["model", ALIAS]]);
    const response = await send(router, upload(twice, "b2"));
    assert.deepEqual([response.status, response.header("x-anvil-code")], [400, "duplicate_key"]);
    assert.equal(engine.counts.completed, 0);
    const { dispatched, code } = router.decisions.at(-1) ?? {};
    assert.deepEqual([dispatched, code], [1, "duplicate_key"]);
  });
});

Deno.test("the list of models, in the shape of either vendor, whole and one by one", async () => {
  await withRouter(async (router) => {
    const ids: string[] = [];
    for await (const model of router.openai.models.list()) ids.push(model.id);
    assert.deepEqual(ids, [ALIAS]);
    assert.equal((await router.openai.models.retrieve(ALIAS)).id, ALIAS);
    await assert.rejects(router.openai.models.retrieve("nobody"), { status: 404 });
    const listed = await router.anthropic.models.list();
    const [model] = listed.data;
    assert.equal(model?.id, ALIAS);
    assert.equal(model?.type, "model");
    assert.equal(model?.display_name, ALIAS);
    assert.match(model?.created_at ?? "", /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/);
    const one = await router.anthropic.models.retrieve(ALIAS);
    assert.equal(one.id, ALIAS);
    const raw = parseResponse(
      (await exchange(router.port, get("/v1/models", { "anthropic-version": "2023-06-01" }))).bytes,
    );
    const { data: [entry] } = JSON.parse(raw?.text ?? "");
    assert.deepEqual([entry.max_input_tokens, entry.max_tokens], [4096, 1024]);
    // Nothing private: neither the served model nor a member's address.
    assert.equal(/org\/model|127\.0\.0\.1/.test(raw?.text ?? ""), false);
  });
});

Deno.test("smuggled and malformed requests are refused and never relayed", async () => {
  await withRouter(async (router, engine) => {
    const body = JSON.stringify({ model: ALIAS, messages: [] });
    const head = (...lines: string[]) =>
      encoder.encode(
        [
          "POST /v1/chat/completions HTTP/1.1",
          "host: x",
          `authorization: Bearer ${TOKEN}`,
          "content-type: application/json",
          ...lines,
          "",
          body,
        ].join("\r\n"),
      );
    const length = `content-length: ${body.length}`;
    const attempts: Readonly<Record<string, Uint8Array>> = {
      "CL+TE": head(length, "transfer-encoding: chunked", ""),
      "TE+CL": head("transfer-encoding: chunked", length, ""),
      "two lengths": head(length, `content-length: ${body.length - 1}`, ""),
      "a length list": head(`content-length: ${body.length}, ${body.length - 1}`, ""),
      "a signed length": head(`content-length: +${body.length}`, ""),
      "a folded header": head(length, "x-a: b", "  c", ""),
      "a space before the colon": head(`content-length : ${body.length}`, ""),
      "an unknown coding": head("transfer-encoding: gzip, chunked", ""),
      "a coding that is not last": head("transfer-encoding: chunked, identity", ""),
      "a bare CR in a header": head(length, "x-a: b\rc: d", ""),
      "a NUL in a header": head(length, "x-a: b\0c", ""),
    };
    for (const [what, bytes] of Object.entries(attempts)) {
      const { bytes: got } = await exchange(router.port, bytes);
      const response = parseResponse(got);
      assert.ok(
        response === null || response.status >= 400,
        `${what}: ${response?.status} ${response?.text}`,
      );
      assert.equal(engine.counts.posts["/v1/chat/completions"] ?? 0, 0, what);
    }
  });
});
