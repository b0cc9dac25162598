// needs: mount
import assert from "node:assert/strict";
import { hexDigest, someBytes } from "../../lib/testing/download_conformance.ts";
import { systemClock } from "../../lib/host/clock.ts";
import { systemDownload } from "../../lib/host/download.ts";
import { tempDir } from "../../lib/testing/temp_dir.ts";
import { publish } from "../../roles/publisher/publish.ts";
import { missingFor } from "../../scripts/needs.ts";
import { publishAsk, publisherRig } from "../fixtures/publisher_rig.ts";

const missing = missingFor(import.meta.url);
const ignore = missing.length > 0 || Deno.build.os !== "linux" || Deno.uid() !== 0;

/** A small disk in memory at `path`; null: this machine does not let us. */
async function smallDisk(path: string, size: string) {
  await Deno.mkdir(path);
  const args = ["-t", "tmpfs", "-o", `size=${size}`, "tmpfs", path];
  const { success } = await new Deno.Command("mount", { args, stderr: "null" }).output();
  if (!success) {
    console.log("skipped: a tmpfs cannot be mounted here");
    return null;
  }
  return {
    async [Symbol.asyncDispose]() {
      await new Deno.Command("umount", { args: [path] }).output();
    },
  };
}

Deno.test({
  name: "real, publisher: a disk that is full, then read-only, leaves what hosts see",
  ignore,
  async fn() {
    await using rig = await publisherRig();
    await using disk = await smallDisk(rig.dir.at("disk"), "300k");
    if (disk === null) return;
    const config = { ...rig.config, root: `${rig.dir.at("disk")}/root` };
    const { ports } = rig;
    const code = async (tree: string, rev: string) => {
      const outcome = await publish(ports, config, publishAsk(tree, rev));
      return outcome.kind === "refused" ? outcome.code : outcome.kind;
    };
    const pointer = () => Deno.readTextFile(`${config.root}/public/candidates/gpu-a.json`);
    assert.equal(await code(await rig.tree("aaa", 1), "aaa"), "published");
    const before = await pointer();
    const large = await rig.tree("bbb", 2);
    await Deno.writeFile(`${large}/share/large.bin`, someBytes(400_000));
    assert.equal(await code(large, "bbb"), "publisher_no_space");
    assert.equal(await pointer(), before);
    const remount = (how: string) =>
      new Deno.Command("mount", { args: ["-o", `remount,${how}`, rig.dir.at("disk")] }).output();
    await Deno.remove(`${large}/share/large.bin`);
    assert.ok((await remount("ro")).success);
    assert.equal(await code(large, "bbb"), "publisher_unusable");
    assert.equal(await pointer(), before);
    assert.ok((await remount("rw")).success);
    assert.equal(await code(large, "bbb"), "published");
    const left = await Array.fromAsync(Deno.readDir(`${config.root}/public/blobs/sha256`));
    assert.deepEqual(left.filter(({ name }) => name.includes("tmp")), []);
  },
});

Deno.test({
  name: "real, download: a full disk is named, what came is kept, and it goes on from there",
  ignore,
  async fn() {
    await using dir = await tempDir();
    await using disk = await smallDisk(dir.at("disk"), "1m");
    if (disk === null) return;
    const content = someBytes(3_000_000);
    const server = Deno.serve({ hostname: "127.0.0.1", port: 0, onListen: () => {} }, (request) => {
      const from = Number(/^bytes=(\d+)-$/.exec(request.headers.get("range") ?? "")?.[1] ?? 0);
      return new Response(content.slice(from), {
        status: from > 0 ? 206 : 200,
        headers: {
          etag: '"one"',
          ...(from > 0 ? { "content-range": `bytes ${from}-2999999/3000000` } : {}),
        },
      });
    });
    const download = systemDownload(systemClock);
    const ask = {
      url: `http://127.0.0.1:${server.addr.port}/`,
      sha256: await hexDigest(content),
      size: content.length,
      path: `${dir.at("disk")}/blob`,
      deadlineMs: 20_000,
      idleMs: 10_000,
    };
    try {
      const full = await download.blob(ask);
      assert.equal(full.kind === "refused" && full.code, "blob_no_space");
      const again = await download.blob(ask);
      assert.equal(again.kind === "refused" && again.code, "blob_no_space");
      const args = ["-o", "remount,size=8m", dir.at("disk")];
      assert.ok((await new Deno.Command("mount", { args }).output()).success);
      const rest = await download.blob(ask);
      assert.ok(rest.kind === "ok" && rest.resumed > 500_000, JSON.stringify(rest));
      assert.deepEqual(await Deno.readFile(ask.path), content);
    } finally {
      download.close();
      await server.shutdown();
    }
  },
});
