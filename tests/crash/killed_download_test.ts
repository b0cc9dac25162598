import assert from "node:assert/strict";
import { fileURLToPath } from "node:url";
import { hexDigest, someBytes } from "../../lib/testing/download_conformance.ts";
import { tempDir } from "../../lib/testing/temp_dir.ts";

const CONTENT = someBytes(4_000_000);
const CHILD = fileURLToPath(new URL("../../lib/testing/download_child.ts", import.meta.url));
const ROOT = fileURLToPath(new URL("../../", import.meta.url));

/** Sends the blob, ranges too, no faster than a child can be killed in the middle of it. */
function slowSite(): Deno.HttpServer<Deno.NetAddr> {
  return Deno.serve({ hostname: "127.0.0.1", port: 0, onListen: () => {} }, (request) => {
    const from = Number(/^bytes=(\d+)-$/.exec(request.headers.get("range") ?? "")?.[1] ?? 0);
    let at = from;
    const stream = new ReadableStream({
      async pull(controller) {
        if (at >= CONTENT.length) return controller.close();
        await new Promise((resolve) => setTimeout(resolve, 2));
        controller.enqueue(CONTENT.slice(at, at += 40_000));
      },
    });
    const range = `bytes ${from}-${CONTENT.length - 1}/${CONTENT.length}`;
    return new Response(stream, {
      status: from > 0 ? 206 : 200,
      headers: {
        etag: '"one"',
        "content-length": String(CONTENT.length - from),
        ...(from > 0 ? { "content-range": range } : {}),
      },
    });
  });
}

Deno.test({
  name:
    "crash, download: after kill -9 at any moment the next run goes on, and only whole bytes count",
  ignore: Deno.build.os === "windows",
  fn: async () => {
    await using dir = await tempDir();
    const path = dir.at("blob");
    const site = slowSite();
    const digest = await hexDigest(CONTENT);
    const args = [
      ...["run", "-A", "--cached-only", "--quiet", "--config", `${ROOT}deno.json`, CHILD],
      ...[`http://127.0.0.1:${site.addr.port}/`, digest, String(CONTENT.length), path],
    ];
    let deaths = 0;
    let last = "";
    try {
      for (let round = 0; !last.startsWith("ok"); round++) {
        assert.ok(round < 40, `never done: ${last}`);
        const child = new Deno.Command(Deno.execPath(), { args, stdout: "piped" }).spawn();
        let timer: ReturnType<typeof setTimeout> | undefined;
        let said = "";
        for await (const text of child.stdout.pipeThrough(new TextDecoderStream())) {
          said += text;
          timer ??= setTimeout(() => {
            if (!said.includes("ok ")) child.kill("SIGKILL");
          }, 30 + Math.random() * 60);
        }
        clearTimeout(timer);
        const { signal } = await child.status;
        if (signal === "SIGKILL") deaths++;
        last = said.trimEnd().split("\n").at(-1) ?? "";
        const found = await Deno.readFile(path).catch(() => null);
        // Killed right after the rename, it is there and whole.
        if (found !== null) assert.deepEqual(found, CONTENT);
      }
    } finally {
      await site.shutdown();
    }
    assert.ok(deaths >= 2, `it was killed ${deaths} times`);
    assert.match(last, /^ok \d+$/);
    assert.deepEqual((await Array.fromAsync(Deno.readDir(dir.path))).map(({ name }) => name), [
      "blob",
    ]);
  },
});
