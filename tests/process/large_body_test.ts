import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { type Engine, startEngine } from "../fixtures/engine.ts";
import { headerOf } from "../fixtures/http_wire.ts";
import { parseResponse } from "../fixtures/raw_client.ts";
import { type RouterProcess, withRouterProcess } from "../support/router_process.ts";
import { ALIAS, MODEL, TOKEN } from "../support/router_toml.ts";
import { CHAT, StreamReader } from "../support/stream_reader.ts";
import { until, within } from "../support/wait.ts";

const MIB = 1024 * 1024;
const IMAGE_BYTES = 50 * MIB;
const encoder = new TextEncoder();

/** A chat whose image is `IMAGE_BYTES` of base64, with the model before or after it. */
function chat(model: string, place: "before" | "after", tail = ""): readonly string[] {
  const head = `"max_tokens":3,"messages":[{"role":"user","content":[{"type":"image_url",` +
    `"image_url":{"url":"data:image/png;base64,`;
  const foot = `"}}]}]`;
  return place === "before"
    ? [`{"model":"${model}",${head}`, `${foot}${tail}}`]
    : [`{${head}`, `${foot},"model":"${model}"${tail}}`];
}

/** Base64 that is nowhere the same, in pieces. */
function* image(): Generator<Uint8Array> {
  const piece = new Uint8Array(MIB);
  let state = 1;
  for (let i = 0; i < piece.length; i++) {
    state = (Math.imul(state, 1103515245) + 12345) >>> 0;
    piece[i] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
      .charCodeAt(state >>> 26);
  }
  for (let sent = 0; sent < IMAGE_BYTES; sent += piece.length) {
    piece[sent / MIB] = 0x41;
    yield piece;
  }
}

function digestOf([head, foot]: readonly string[]): { hash: string; size: number } {
  const hash = createHash("sha256").update(head ?? "");
  let size = (head ?? "").length + (foot ?? "").length;
  for (const piece of image()) {
    hash.update(piece);
    size += piece.length;
  }
  return { hash: hash.update(foot ?? "").digest("hex"), size };
}

/** Sends it piece by piece; gives the answer. Stops sending when nobody takes it. */
async function upload(router: RouterProcess, parts: readonly string[]) {
  const [head = "", foot = ""] = parts;
  const size = head.length + IMAGE_BYTES + foot.length;
  const request = `POST ${CHAT} HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${TOKEN}\r\n` +
    `content-type: application/json\r\ncontent-length: ${size}\r\n\r\n${head}`;
  using reader = await StreamReader.open(router.port, encoder.encode(request));
  const sending = (async () => {
    try {
      for (const piece of image()) await reader.send(piece);
      await reader.send(encoder.encode(foot));
    } catch { /* refused in the middle */ }
  })();
  const got = await within("an answer", reader.rest(), 30_000);
  reader.close();
  await sending;
  return parseResponse(got.bytes);
}

async function withRouter(run: (router: RouterProcess, engine: Engine) => Promise<void>) {
  const engine = await startEngine();
  try {
    await withRouterProcess({ members: [engine.port] }, (router) => run(router, engine));
  } finally {
    await engine.close();
  }
}

Deno.test("a 50 MiB image before and after the model: the same bytes, a length, bounded memory", async () => {
  await withRouter(async (router, engine) => {
    const linux = Deno.build.os === "linux";
    const before = linux ? await router.rss() : 0;
    const peaks: number[] = [];
    // The model first: the rest streams, so three cost less than three. The model last: all of it
    // has to be held until it is found.
    for (const [place, count, most] of [["before", 3, 125], ["after", 1, 180]] as const) {
      const watching = new AbortController();
      let peak = 0;
      const watch = (async () => {
        while (linux && !watching.signal.aborted) {
          peak = Math.max(peak, await router.rss());
          await new Promise((done) => setTimeout(done, 20));
        }
      })();
      const answers = await Promise.all(
        [...Array(count).keys()].map(() => upload(router, chat(ALIAS, place))),
      );
      watching.abort();
      await watch;
      for (const answer of answers) assert.equal(answer?.status, 200, `${place}: ${answer?.text}`);
      const { hash, size } = digestOf(chat(MODEL, place));
      const last = engine.last;
      assert.ok(last !== null);
      assert.equal(last.body.length, size, place);
      assert.equal(createHash("sha256").update(last.body).digest("hex"), hash, place);
      assert.equal(headerOf(last.head, "content-length"), String(size), place);
      assert.equal(headerOf(last.head, "transfer-encoding"), undefined, place);
      const grown = (peak - before) / MIB;
      peaks.push(Math.round(grown));
      assert.ok(!linux || grown < most, `model ${place} the image: grew by ${grown} MiB`);
    }
    if (linux) {
      console.log(`grown by MiB: 3 with the model first ${peaks[0]}, 1 with it last ${peaks[1]}`);
    }
    assert.equal((await router.status()).buffered_bytes, 0);
    assert.equal(engine.counts.posts[CHAT], 4);
  });
});

Deno.test("a second model late in a large body: 400, and the engine never had it whole", async () => {
  await withRouter(async (router, engine) => {
    const cases = [
      [`,"model":"${ALIAS}"`, "duplicate_key"],
      [`,"x":]`, "body_not_json"],
    ] as const;
    for (const [index, [tail, code]] of cases.entries()) {
      const answer = await upload(router, chat(ALIAS, "before", tail));
      assert.equal(answer?.status, 400, answer?.text);
      assert.equal(answer?.header("x-anvil-code"), code);
      await until("the engine saw it break off", () => engine.counts.partial === index + 1);
    }
    assert.equal(engine.counts.completed, 0);
    assert.equal(engine.last, null);
    const status = await router.status();
    assert.deepEqual([status.open, status.buffered_bytes], [0, 0]);
  });
});
