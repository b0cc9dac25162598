// needs: nginx
import assert from "node:assert/strict";
import { verifyEnvelope } from "../../lib/adoption/envelope.ts";
import { systemClock } from "../../lib/host/clock.ts";
import { systemDownload } from "../../lib/host/download.ts";
import { readManifest } from "../../lib/generation/manifest.ts";
import { someBytes } from "../../lib/testing/download_conformance.ts";
import { publish } from "../../roles/publisher/publish.ts";
import { commandPath, missingFor } from "../../scripts/needs.ts";
import { publishAsk, publisherRig, trustOfRig } from "../fixtures/publisher_rig.ts";
import { freePort } from "../support/free_port.ts";
import { until } from "../support/wait.ts";

const missing = missingFor(import.meta.url);

/** The recipe of docs/guides/publishing.md, with the port and folder of a test. */
async function recipe(port: number, root: string): Promise<string> {
  const guide = await Deno.readTextFile(
    new URL("../../docs/guides/publishing.md", import.meta.url),
  );
  const found = /<!-- recipe: nginx -->\s*```nginx\n([\s\S]*?)```/.exec(guide)?.[1];
  assert.ok(found !== undefined, "the guide has no recipe");
  return found.replace("192.0.2.10:8734", `127.0.0.1:${port}`)
    .replace("/var/lib/anvil/publisher", root);
}

Deno.test({
  name: "real, nginx serves what is published: pointers, blobs in parts, and nothing else",
  ignore: missing.length > 0,
  async fn() {
    await using rig = await publisherRig();
    const { ports, config, dir } = rig;
    const tree = await rig.tree("aaa", 1);
    const large = someBytes(5_000_000);
    await Deno.writeFile(`${tree}/share/large.bin`, large);
    const done = await publish(ports, config, publishAsk(tree, "aaa"));
    assert.equal(done.kind, "published");
    // nginx is another user: what is published must be readable by everybody.
    await Deno.chmod(dir.path, 0o755);
    const port = freePort();
    const temps = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"]
      .map((name) => `${name}_temp_path ${dir.at(name)};`).join("\n");
    await Deno.writeTextFile(
      dir.at("nginx.conf"),
      `daemon off;\npid ${dir.at("pid")};\nevents {}\nhttp {\naccess_log off;\n${temps}\n` +
        `limit_rate 20m;\n${await recipe(port, config.root)}}\n`,
    );
    const nginx = new Deno.Command(commandPath("nginx") ?? "nginx", {
      args: ["-p", dir.path, "-e", "stderr", "-c", dir.at("nginx.conf")],
      stdout: "null",
      stderr: "piped",
    }).spawn();
    const stderr = new Response(nginx.stderr).text();
    const download = systemDownload(systemClock);
    const url = (path: string) => `http://127.0.0.1:${port}${path}`;
    try {
      await until("nginx listens", async () => {
        const alive = await download.head({ url: url("/"), deadlineMs: 1000 });
        return alive.kind === "refused" && alive.code === "no-candidate";
      });
      const ask = (etag?: string) =>
        download.document({
          url: url("/candidates/gpu-a.json"),
          maxBytes: 1e6,
          deadlineMs: 5000,
          ...(etag === undefined ? {} : { etag }),
        });
      const pointer = await ask();
      assert.ok(pointer.kind === "ok", JSON.stringify(pointer));
      assert.deepEqual(await ask(pointer.etag ?? ""), { kind: "unchanged" });
      const trust = await trustOfRig(ports, config);
      const expected = { host: "gpu-a", backend: "bundle", channel: "rolling" } as const;
      const offer = await verifyEnvelope(pointer.bytes, trust, {
        ...expected,
        ...{ floor: null, now: Date.now(), builtAt: 0 },
      });
      assert.ok(offer.kind === "offer");
      const answer = await fetch(url("/candidates/gpu-a.json"));
      assert.equal(answer.headers.get("cache-control"), "no-store");
      await answer.body?.cancel();
      const none = await download.document({
        url: url("/candidates/gpu-b.json"),
        maxBytes: 1e6,
        deadlineMs: 5000,
      });
      assert.equal(none.kind === "refused" && none.code, "no-candidate");

      const blob = (sha256: string, size: number, name: string, more = {}) =>
        download.blob({
          ...{ url: url(`/blobs/sha256/${sha256}`), sha256, size, path: dir.at(name) },
          ...{ deadlineMs: 30_000, idleMs: 10_000 },
          ...more,
        });
      const digest = offer.target.slice(7);
      const { target } = offer.payload;
      assert.ok(target.kind === "bundle");
      assert.equal((await blob(digest, target.manifest_size, "manifest")).kind, "ok");
      const manifest = readManifest(await Deno.readFile(dir.at("manifest")));
      assert.ok(manifest.kind === "ok");
      for (const [n, { sha256, size, path }] of manifest.manifest.files.entries()) {
        if (path !== "share/large.bin") {
          assert.equal((await blob(sha256, size, `file-${n}`)).kind, "ok");
          continue;
        }
        const stop = new AbortController();
        const onProgress = ({ done }: { readonly done: number }) => {
          if (done > 1_000_000) stop.abort();
        };
        const cut = await blob(sha256, size, "large", { signal: stop.signal, onProgress });
        assert.equal(cut.kind === "refused" && cut.code, "fetch-aborted");
        const rest = await blob(sha256, size, "large");
        assert.ok(rest.kind === "ok" && rest.resumed > 1_000_000);
        assert.equal(rest.received + rest.resumed, size);
        assert.deepEqual(await Deno.readFile(dir.at("large")), large);
      }
      await Deno.symlink("/etc/passwd", `${config.root}/public/blobs/sha256/${"ab".repeat(32)}`);
      for (
        const path of [
          ...["/lock", "/../lock", "/candidates/", "/candidates/..%2f..%2flock", "/blobs/sha256/"],
          ...["/candidates/.gpu-a.json.0.tmp", `/blobs/sha256/${"cd".repeat(32)}`],
        ]
      ) {
        const { status, body } = await fetch(url(path));
        await body?.cancel();
        assert.ok(status === 404 || status === 400, `${path}: ${status}`);
      }
      const link = await fetch(url(`/blobs/sha256/${"ab".repeat(32)}`));
      await link.body?.cancel();
      assert.equal(link.status, 403);
    } finally {
      download.close();
      nginx.kill("SIGTERM");
      await nginx.status;
      const said = (await stderr).trim().split("\n").filter((line) => line.includes("[emerg]"));
      if (said.length > 0) console.log(said.join("\n"));
    }
  },
});
