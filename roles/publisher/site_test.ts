import assert from "node:assert/strict";
import fc from "fast-check";
import { sha256 } from "../../lib/host/digest.ts";
import { systemFiles } from "../../lib/host/files.ts";
import { serveBounded, type ServedConnection } from "../../lib/host/serve_bounded.ts";
import { openStatic } from "../../lib/host/static_file.ts";
import { someBytes } from "../../lib/testing/download_conformance.ts";
import { publishAsk, publisherRig } from "../../tests/fixtures/publisher_rig.ts";
import { until } from "../../tests/support/wait.ts";
import { blobPath } from "./layout.ts";
import { publish, withdraw } from "./publish.ts";
import { Site, type SiteParts } from "./site.ts";

const CONTENT = someBytes(3_000_000);
const DIGEST = sha256(CONTENT).toHex();

/** A connection nobody looks at. */
const NOBODY: ServedConnection = { hold: () => () => {}, abort: () => {} };

/** A published tree, a larger blob, and a site that serves them. */
async function siteRig(more: Partial<SiteParts> = {}, connections = 64, idleMs = 5000) {
  const rig = await publisherRig();
  const tree = await rig.tree("aaa", 1);
  const done = await publish(rig.ports, rig.config, publishAsk(tree, "aaa"));
  assert.equal(done.kind, "published");
  await Deno.writeFile(blobPath(rig.config.root, DIGEST), CONTENT);
  const said: string[] = [];
  const remark = (message: string) => void said.push(message);
  const site = new Site({
    root: rig.config.root,
    files: systemFiles,
    openStatic,
    sha256,
    remarks: { info: remark, warn: remark, error: remark },
    responses: 8,
    idleMs: 5000,
    ...more,
  });
  const onError = (error: unknown) => void said.push(String(error));
  const server = serveBounded({
    ...{ hostname: "127.0.0.1", port: 0, connections, idleMs, handler: site.handle, onError },
    onFull: (open) => said.push(`full at ${open}`),
  });
  if (server.kind === "refused") throw new Error(server.detail);
  return {
    ...rig,
    site,
    said,
    port: server.port,
    first: tree,
    ask: (path: string, init: RequestInit = {}) =>
      fetch(`http://127.0.0.1:${server.port}${path}`, init),
    async [Symbol.asyncDispose]() {
      await server.shutdown();
      await rig[Symbol.asyncDispose]();
    },
  };
}

/** Sends a request line as it is and gives the status. */
async function raw(port: number, line: string): Promise<number> {
  using conn = await Deno.connect({ hostname: "127.0.0.1", port });
  await conn.write(new TextEncoder().encode(`${line}\r\nhost: x\r\nconnection: close\r\n\r\n`));
  const answer = await new Response(conn.readable).text();
  return Number(/^HTTP\/1\.1 (\d+)/.exec(answer)?.[1]);
}

Deno.test("a pointer: never stored, and not sent again while it is the same", async () => {
  await using rig = await siteRig();
  const first = await rig.ask("/candidates/gpu-a.json");
  assert.equal(first.status, 200);
  assert.equal(first.headers.get("cache-control"), "no-store");
  assert.equal(first.headers.get("content-type"), "application/json");
  const text = await first.text();
  assert.ok(text.startsWith('{"payload":'));
  const etag = first.headers.get("etag") ?? "";
  const again = await rig.ask("/candidates/gpu-a.json", { headers: { "if-none-match": etag } });
  assert.equal(again.status, 304);
  await again.body?.cancel();
  const head = await rig.ask("/candidates/gpu-a.json", { method: "HEAD" });
  assert.equal(head.headers.get("content-length"), String(text.length));
  assert.equal(await head.text(), "");
  await publish(rig.ports, rig.config, publishAsk(rig.first, "aaa"));
  const other = await rig.ask("/candidates/gpu-a.json", { headers: { "if-none-match": etag } });
  assert.equal(other.status, 200);
  await other.body?.cancel();
});

Deno.test("a host without a candidate: 404, and it says so", async () => {
  await using rig = await siteRig();
  const answer = await rig.ask("/candidates/gpu-b.json");
  assert.equal(answer.status, 404);
  assert.match(await answer.text(), /^no-candidate/);
});

Deno.test("a blob: for ever, whole, in parts, and by its head", async () => {
  await using rig = await siteRig();
  const path = `/blobs/sha256/${DIGEST}`;
  const whole = await rig.ask(path);
  assert.equal(whole.headers.get("cache-control"), "public, max-age=31536000, immutable");
  assert.equal(whole.headers.get("etag"), `"${DIGEST}"`);
  assert.deepEqual(new Uint8Array(await whole.arrayBuffer()), CONTENT);
  const part = async (range: string, more: Record<string, string> = {}) => {
    const answer = await rig.ask(path, { headers: { range, ...more } });
    const bytes = new Uint8Array(await answer.arrayBuffer());
    return { status: answer.status, range: answer.headers.get("content-range"), bytes };
  };
  const end = CONTENT.length - 1;
  assert.deepEqual(await part("bytes=2999990-"), {
    status: 206,
    range: `bytes 2999990-${end}/3000000`,
    bytes: CONTENT.slice(2_999_990),
  });
  assert.deepEqual((await part("bytes=5-9")).bytes, CONTENT.slice(5, 10));
  assert.deepEqual((await part("bytes=5-99999999")).bytes.length, CONTENT.length - 5);
  assert.deepEqual((await part("bytes=-3")).bytes, CONTENT.slice(-3));
  assert.equal((await part("bytes=-0")).status, 416);
  assert.deepEqual((await part("bytes=3000000-")).status, 416);
  assert.equal((await part("bytes=3000000-")).range, "bytes */3000000");
  for (const odd of ["bytes=9-5", "bytes=0-1,5-6", "lines=1-2", "bytes=-", "bytes=a-"]) {
    assert.equal((await part(odd)).status, 200, odd);
  }
  assert.equal((await part("bytes=5-9", { "if-range": `"${DIGEST}"` })).status, 206);
  assert.equal((await part("bytes=5-9", { "if-range": '"other"' })).status, 200);
  const head = await rig.ask(path, { method: "HEAD" });
  assert.deepEqual([head.status, head.headers.get("content-length")], [200, "3000000"]);
  assert.equal(await head.text(), "");
  const known = await rig.ask(path, { headers: { "if-none-match": `"x", "${DIGEST}"` } });
  assert.equal(known.status, 304);
  await known.body?.cancel();
  assert.equal(rig.site.open, 0);
});

Deno.test("nothing but pointers and blobs is to be had, by no spelling", async () => {
  await using rig = await siteRig();
  await Deno.symlink("/etc/passwd", blobPath(rig.config.root, "ab".repeat(32)));
  await Deno.mkdir(blobPath(rig.config.root, "cd".repeat(32)));
  await Deno.writeTextFile(`${rig.config.root}/public/candidates/.gpu-a.json.0.tmp`, "half");
  for (
    const target of [
      ...["/", "/candidates/", "/blobs/sha256/", "/candidates", "/lock", "/public/lock"],
      ...["/sequences/gpu-a.rolling.json", "/../sequences/gpu-a.rolling.json"],
      ...["/candidates/../../sequences/gpu-a.rolling.json", "/candidates/..%2f..%2flock.json"],
      ...["//candidates/gpu-a.json", "/candidates//gpu-a.json", "/candidates/%67pu-a.json"],
      ...["/candidates/.gpu-a.json.0.tmp", "/candidates/gpu-a.json/", "/candidates/GPU-A.json"],
      ...["/candidates/gpu-a.json%00", "/candidates/gpu-a.json\\", "/blobs/sha256/../../../lock"],
      ...[`/blobs/sha256/${"ab".repeat(32)}`, `/blobs/sha256/${"cd".repeat(32)}`],
      ...[`/blobs/sha256/${DIGEST.toUpperCase()}`, `/blobs/sha256/${DIGEST}.part`],
    ]
  ) assert.equal(await raw(rig.port, `GET ${target} HTTP/1.1`), 404, target);
  assert.equal(await raw(rig.port, "GET http://elsewhere/candidates/gpu-a.json HTTP/1.1"), 200);
  assert.equal(await raw(rig.port, "GET /candidates/gpu-a.json?x=1 HTTP/1.1"), 200);
  for (const method of ["POST", "PUT", "DELETE", "OPTIONS", "TRACE"]) {
    assert.equal(await raw(rig.port, `${method} /candidates/gpu-a.json HTTP/1.1`), 405, method);
  }
  assert.equal(await raw(rig.port, "GET /livez HTTP/1.1"), 200);
});

Deno.test("no path but those two is ever looked for on the disk", async () => {
  const asked: string[] = [];
  const site = new Site({
    root: "/root",
    files: {
      ...systemFiles,
      readBounded: (path) => {
        asked.push(path);
        return Promise.resolve({ kind: "absent" });
      },
    },
    openStatic: (path) => {
      asked.push(path);
      return Promise.resolve(null);
    },
    sha256,
    remarks: { info: () => {}, warn: () => {}, error: () => {} },
    responses: 8,
    idleMs: 1000,
  });
  const part = fc.constantFrom(
    ...["/", "candidates", "blobs", "sha256", "gpu-a", ".json", "..", ".", "%2e", "%2f", "\\"],
    ...["a".repeat(64), "lock", "sequences", "?", "#", ";", "//", "\u0000", "A"],
  );
  const path = fc.array(fc.oneof(part, fc.string({ maxLength: 8 })), { maxLength: 12 })
    .map((parts) => `/${parts.join("")}`);
  await fc.assert(
    fc.asyncProperty(path, async (target) => {
      const request = new Request("http://x/");
      Object.defineProperty(request, "url", { value: `http://x${target}` });
      assert.ok([200, 404].includes((await site.handle(request, NOBODY)).status));
    }),
    { numRuns: 3000 },
  );
  const allowed =
    /^\/root\/public\/(candidates\/[a-z][a-z0-9-]{0,62}\.json|blobs\/sha256\/[0-9a-f]{64})$/;
  assert.deepEqual(asked.filter((one) => !allowed.test(one)), []);
  assert.equal(
    (await site.handle(new Request("http://x/candidates/gpu-a.json"), NOBODY)).status,
    404,
  );
  assert.equal(asked.at(-1), "/root/public/candidates/gpu-a.json");
});

Deno.test("answers at once are bounded; one that is not read on is cut off and makes room", async () => {
  await using rig = await siteRig({ responses: 2, idleMs: 300 });
  // More than any socket buffer takes by itself.
  const large = "ef".repeat(32);
  await Deno.writeFile(blobPath(rig.config.root, large), new Uint8Array(32_000_000));
  using slow = {
    conns: [] as Deno.TcpConn[],
    [Symbol.dispose]() {
      for (const conn of this.conns) {
        try {
          conn.close();
        } catch {
          // read to its end, and closed by that
        }
      }
    },
  };
  for (let n = 0; n < 2; n++) {
    const conn = await Deno.connect({ hostname: "127.0.0.1", port: rig.port });
    slow.conns.push(conn);
    const head = `GET /blobs/sha256/${large} HTTP/1.1\r\nhost: x\r\n\r\n`;
    await conn.write(new TextEncoder().encode(head));
    await until("the answer began", () => rig.site.open === n + 1);
  }
  const third = await rig.ask("/candidates/gpu-a.json");
  assert.deepEqual([third.status, third.headers.get("retry-after")], [503, "2"]);
  await third.body?.cancel();
  assert.ok(rig.said.some((line) => line.startsWith("too many answers")));
  await until("both were cut off", () => rig.site.open === 0);
  const fourth = await rig.ask("/candidates/gpu-a.json");
  assert.equal(fourth.status, 200);
  await fourth.body?.cancel();
  for (const conn of slow.conns) {
    const came = await new Response(conn.readable).bytes().catch(() => new Uint8Array(0));
    assert.ok(came.length < 32_000_000);
  }
});

Deno.test("connections are bounded, and one that does nothing is closed", async () => {
  await using rig = await siteRig({}, 3, 400);
  const connect = () => Deno.connect({ hostname: "127.0.0.1", port: rig.port });
  const ended = async (conn: Deno.Conn) => {
    using _closed = conn;
    for (
      const buffer = new Uint8Array(65_536);
      await conn.read(buffer).catch(() => null) !== null;
    );
  };
  // Silent, in the middle of its head, and kept after an answer.
  const silent = await connect();
  const half = await connect();
  await half.write(new TextEncoder().encode("GET /livez HTTP/1.1\r\nhost:"));
  const kept = await connect();
  await kept.write(new TextEncoder().encode("GET /livez HTTP/1.1\r\nhost: x\r\n\r\n"));
  await kept.read(new Uint8Array(1024));
  await ended(await connect());
  assert.deepEqual(rig.said, ["full at 3"]);
  await Promise.all([silent, half, kept].map(ended));
  const again = await rig.ask("/livez");
  assert.equal(again.status, 200);
  await again.body?.cancel();
});

Deno.test("an answer that is read slowly and steadily is no idle connection", async () => {
  await using rig = await siteRig({ idleMs: 400 }, 3, 400);
  const large = "ef".repeat(32);
  await Deno.writeFile(blobPath(rig.config.root, large), new Uint8Array(12_000_000));
  const answer = await rig.ask(`/blobs/sha256/${large}`);
  let length = 0;
  let pauses = 0;
  for await (const chunk of answer.body ?? []) {
    length += chunk.length;
    if (length > pauses * 1_500_000) {
      pauses++;
      await new Promise((resolve) => setTimeout(resolve, 150));
    }
  }
  assert.equal(length, 12_000_000);
  assert.ok(pauses >= 8);
});

Deno.test("published while it is served: every answer is whole and none is older than the last", async () => {
  await using rig = await siteRig({ responses: 64 });
  const { ports, config } = rig;
  const other = await rig.tree("bbb", 2);
  let over = false;
  const readers = Array.from({ length: 4 }, async () => {
    let last = 0;
    let answers = 0;
    while (!over) {
      const text = await (await rig.ask("/candidates/gpu-a.json")).text();
      const { sequence } = JSON.parse(atob(JSON.parse(text).payload)) as { sequence: number };
      assert.ok(sequence >= last);
      last = sequence;
      answers++;
    }
    return answers;
  });
  for (let n = 0; n < 6; n++) {
    const [tree, rev] = n % 2 === 0 ? [other, "bbb"] : [rig.first, "aaa"];
    const anyway = { allowDowngradeFrom: ["aaa", "bbb"], reinstate: true };
    const done = await publish(ports, config, publishAsk(tree as string, rev as string, anyway));
    assert.equal(done.kind, "published");
  }
  assert.equal((await withdraw(ports, config, "gpu-a", null)).kind, "withdrawn");
  over = true;
  assert.ok((await Promise.all(readers)).every((answers) => answers > 0));
  await rig.look();
});
