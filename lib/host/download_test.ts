import assert from "node:assert/strict";
import {
  DOWNLOAD_PROMISES,
  type DownloadRig,
  hexDigest,
  someBytes,
} from "../testing/download_conformance.ts";
import { FakeDownload } from "../testing/fake_download.ts";
import { tempDir } from "../testing/temp_dir.ts";
import type { BlobAsk } from "../core/download.ts";
import { systemClock } from "./clock.ts";
import { systemDownload } from "./download.ts";

interface Served {
  bytes: Uint8Array<ArrayBuffer>;
  version: number;
  status: number;
  hangs: boolean;
  cutAfter: number;
  cuts: number;
  sent: number;
  /** What ranges were asked for. */
  readonly ranges: (string | null)[];
  readonly etag: (version: number) => string | null;
}

/** A site that misbehaves on demand. */
class Site {
  readonly names = new Map<string, Served>();
  readonly server: Deno.HttpServer<Deno.NetAddr>;
  readonly #over = Promise.withResolvers<void>();
  readonly #pauses: Promise<void>[] = [];

  constructor() {
    this.server = Deno.serve(
      { hostname: "127.0.0.1", port: 0, onListen: () => {}, onError: () => new Response(null) },
      (request) => this.#answer(request),
    );
  }

  put(name: string, bytes: Uint8Array<ArrayBuffer>, more: Partial<Served> = {}): void {
    const before = this.names.get(name);
    const fresh = { status: 200, hangs: false, cutAfter: 0, cuts: 0, sent: 0, ranges: [] };
    this.names.set(name, {
      ...fresh,
      etag: (version: number) => `"v${version}"`,
      ...before,
      bytes,
      version: (before?.version ?? 0) + 1,
      ...more,
    });
  }

  async close(): Promise<void> {
    this.#over.resolve();
    await this.server.shutdown();
    await Promise.all(this.#pauses);
  }

  #pause(): Promise<void> {
    const pause = new Promise<void>((resolve) => setTimeout(resolve, 50));
    this.#pauses.push(pause);
    return pause;
  }

  async #answer(request: Request): Promise<Response> {
    const found = this.names.get(new URL(request.url).pathname);
    if (found === undefined) return new Response(null, { status: 404 });
    if (found.hangs) {
      await Promise.race([
        this.#over.promise,
        new Promise((resolve) => request.signal.addEventListener("abort", resolve)),
      ]);
      return new Response(null, { status: 500 });
    }
    if (found.status !== 200) {
      return new Response("no", { status: found.status, headers: { location: "/blob" } });
    }
    const etag = found.etag(found.version);
    const headers = new Headers(etag === null ? {} : { etag });
    if (etag !== null && request.headers.get("if-none-match") === etag) {
      return new Response(null, { status: 304, headers });
    }
    const range = request.headers.get("range");
    found.ranges.push(range);
    const same = request.headers.get("if-range") === etag;
    const from = same ? Number(/^bytes=(\d+)-$/.exec(range ?? "")?.[1] ?? 0) : 0;
    const { length } = found.bytes;
    if (from > 0) headers.set("content-range", `bytes ${from}-${length - 1}/${length}`);
    const cut = found.cuts > 0 && from + found.cutAfter < length;
    if (cut) found.cuts--;
    const body = found.bytes.subarray(from, cut ? from + found.cutAfter : length);
    found.sent += body.length;
    headers.set("content-length", String(length - from));
    let at = 0;
    const pause = () => this.#pause();
    const stream = new ReadableStream({
      async pull(controller) {
        if (at < body.length) {
          controller.enqueue(body.slice(at, at += 16_384));
          return;
        }
        // What was sent has to leave before the connection does.
        if (cut) {
          await pause();
          controller.error(new Error("cut"));
        } else controller.close();
      },
    });
    return new Response(stream, { status: from > 0 ? 206 : 200, headers });
  }
}

interface RealRig extends DownloadRig {
  readonly site: Site;
}

async function realRig(): Promise<RealRig> {
  const site = new Site();
  const dir = await tempDir();
  const download = systemDownload(systemClock);
  const closed = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const nowhere = `http://127.0.0.1:${closed.addr.port}/`;
  closed.close();
  const served = (name: string) => site.names.get(name) as Served;
  return {
    site,
    download,
    nowhere,
    put: (name, bytes) => site.put(name, bytes),
    cut: (name, cutAfter, cuts) => void Object.assign(served(name), { cutAfter, cuts }),
    hang: (name) => void (served(name).hangs = true),
    status: (name, status) => void (served(name).status = status),
    url: (name) => `http://127.0.0.1:${site.server.addr.port}${name}`,
    path: (name) => dir.at(name),
    read: async (path) => {
      try {
        return await Deno.readFile(path);
      } catch (error) {
        if (error instanceof Deno.errors.NotFound) return null;
        throw error;
      }
    },
    sent: (name) => site.names.get(name)?.sent ?? 0,
    async [Symbol.asyncDispose]() {
      download.close();
      await site.close();
      await dir[Symbol.asyncDispose]();
    },
  };
}

for (const { name, run } of DOWNLOAD_PROMISES) {
  Deno.test(`download, real: ${name}`, async () => {
    await using rig = await realRig();
    await run(rig);
  });
  Deno.test(`download, fake: ${name}`, async () => {
    await using rig = new FakeDownload();
    await run(rig);
  });
}

const CONTENT = someBytes(200_000);

async function askFor(rig: DownloadRig, more: Partial<BlobAsk> = {}): Promise<BlobAsk> {
  return {
    url: rig.url("/blob"),
    sha256: await hexDigest(CONTENT),
    size: CONTENT.length,
    path: rig.path("blob"),
    deadlineMs: 20_000,
    idleMs: 10_000,
    ...more,
  };
}

Deno.test("two cuts in one run: each attempt asks for the rest only", async () => {
  await using rig = await realRig();
  rig.site.put("/blob", CONTENT, { cutAfter: 60_000, cuts: 2 });
  const outcome = await rig.download.blob(await askFor(rig));
  assert.deepEqual(outcome, { kind: "ok", received: CONTENT.length, resumed: 0 });
  const ranges = rig.site.names.get("/blob")?.ranges ?? [];
  assert.equal(ranges.length, 3);
  assert.equal(ranges[0], null);
  assert.match(ranges[2] ?? "", /^bytes=\d{5,6}-$/);
  assert.equal(rig.sent("/blob"), CONTENT.length);
});

Deno.test("a server without a strong etag: begun anew, never patched together", async () => {
  for (const etag of [() => null, (version: number) => `W/"${version}"`]) {
    await using rig = await realRig();
    rig.site.put("/blob", CONTENT, { cutAfter: 60_000, cuts: 1, etag });
    assert.equal((await rig.download.blob(await askFor(rig))).kind, "ok");
    assert.deepEqual(rig.site.names.get("/blob")?.ranges, [null, null]);
    assert.deepEqual(await rig.read(rig.path("blob")), CONTENT);
  }
});

Deno.test("a torn tail, as a power cut leaves one, is found and begun anew", async () => {
  await using rig = await realRig();
  rig.site.put("/blob", CONTENT);
  const torn = CONTENT.slice(0, 120_000).fill(0, 100_000);
  await Deno.writeFile(rig.path("blob.part"), torn);
  await Deno.writeTextFile(rig.path("blob.part.etag"), '"v1"');
  const outcome = await rig.download.blob(await askFor(rig));
  assert.deepEqual(outcome, {
    kind: "ok",
    received: CONTENT.length - torn.length + CONTENT.length,
    resumed: torn.length,
  });
  assert.deepEqual(await rig.read(rig.path("blob")), CONTENT);
});

Deno.test("a part that is whole needs no network; one that is too long, or of nobody, is dropped", async () => {
  await using rig = await realRig();
  rig.site.put("/blob", CONTENT);
  await Deno.writeFile(rig.path("blob.part"), CONTENT);
  await Deno.writeTextFile(rig.path("blob.part.etag"), '"v1"');
  assert.deepEqual(await rig.download.blob(await askFor(rig, { url: rig.nowhere })), {
    kind: "ok",
    received: 0,
    resumed: CONTENT.length,
  });
  for (const [part, etag] of [[new Uint8Array(300_000), '"v1"'], [CONTENT.slice(0, 9), null]]) {
    await Deno.remove(rig.path("blob"));
    await Deno.writeFile(rig.path("blob.part"), part as Uint8Array);
    if (etag !== null) await Deno.writeTextFile(rig.path("blob.part.etag"), etag as string);
    const outcome = await rig.download.blob(await askFor(rig));
    assert.deepEqual(outcome, { kind: "ok", received: CONTENT.length, resumed: 0 });
  }
});

Deno.test("a damaged blob under the right name is replaced", async () => {
  await using rig = await realRig();
  rig.site.put("/blob", CONTENT);
  await Deno.writeFile(rig.path("blob"), CONTENT.slice().reverse());
  assert.equal((await rig.download.blob(await askFor(rig))).kind, "ok");
  assert.deepEqual(await rig.read(rig.path("blob")), CONTENT);
});

Deno.test("two at once: one of them is told so", async () => {
  await using rig = await realRig();
  rig.site.put("/blob", CONTENT, { hangs: true });
  const stop = new AbortController();
  const ask = await askFor(rig);
  const first = rig.download.blob({ ...ask, signal: stop.signal });
  while (await rig.read(rig.path("blob.part")) === null) {
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
  // The lock comes right after the file.
  await new Promise((resolve) => setTimeout(resolve, 50));
  const second = await rig.download.blob(ask);
  assert.equal(second.kind === "refused" && second.code, "blob_busy");
  stop.abort();
  const ended = await first;
  assert.equal(ended.kind === "refused" && ended.code, "fetch-aborted");
});

Deno.test("a folder that is not there, and one that is a file", async () => {
  await using rig = await realRig();
  rig.site.put("/blob", CONTENT);
  const outcome = await rig.download.blob(await askFor(rig, { path: rig.path("no/where") }));
  assert.equal(outcome.kind === "refused" && outcome.code, "blob_unwritable");
});

Deno.test("an answer without a length, and without an end, is refused where it is too long", async () => {
  await using dir = await tempDir();
  let sent = 0;
  const server = Deno.serve(
    { hostname: "127.0.0.1", port: 0, onListen: () => {} },
    () =>
      new Response(
        new ReadableStream({
          pull(controller) {
            sent += 16_384;
            controller.enqueue(new Uint8Array(16_384));
          },
        }),
      ),
  );
  const download = systemDownload(systemClock);
  const url = `http://127.0.0.1:${server.addr.port}/`;
  try {
    const bounds = { deadlineMs: 3000, idleMs: 3000 };
    const ask = { url, sha256: "ab".repeat(32), size: 200_000, path: dir.at("blob"), ...bounds };
    const blob = await download.blob(ask);
    assert.equal(blob.kind === "refused" && blob.code, "fetch-too-large");
    const document = await download.document({ url, maxBytes: 200_000, deadlineMs: 3000 });
    assert.equal(document.kind === "refused" && document.code, "fetch-too-large");
    assert.ok(sent < 32_000_000, `${sent} bytes were taken`);
    assert.deepEqual(await Array.fromAsync(Deno.readDir(dir.path)), []);
  } finally {
    download.close();
    await server.shutdown();
  }
});
