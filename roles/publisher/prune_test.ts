import assert from "node:assert/strict";
import { filesOlderThan, removeFiles } from "../../lib/host/old_files.ts";
import { publishAsk, publisherRig } from "../../tests/fixtures/publisher_rig.ts";
import { blobPath, pointerPath } from "./layout.ts";
import { prune } from "./prune.ts";
import { publish } from "./publish.ts";

/** Two trees, one after the other on gpu-a, the first still on gpu-b; every blob 60 days old. */
async function agedRig() {
  const rig = await publisherRig();
  const { config } = rig;
  const ports = { ...rig.ports, filesOlderThan, removeFiles };
  const [one, two, three] = [
    await rig.tree("aaa", 1),
    await rig.tree("bbb", 2),
    await rig.tree("ccc", 3),
  ];
  for (
    const [host, tree, rev] of [["gpu-b", one, "aaa"], ["gpu-a", two, "bbb"], [
      "gpu-a",
      three,
      "ccc",
    ]]
  ) {
    const done = await publish(
      ports,
      config,
      publishAsk(tree as string, rev as string, { host: host as string }),
    );
    assert.equal(done.kind, "published");
  }
  const folder = `${config.root}/public/blobs/sha256`;
  const age = async (name: string) => {
    const then = new Date(Date.now() - 60 * 86_400_000);
    await Deno.utime(`${folder}/${name}`, then, then);
  };
  const names = async () => (await Array.fromAsync(Deno.readDir(folder))).map(({ name }) => name);
  for (const name of await names()) await age(name);
  return { ...rig, ports, folder, age, names };
}

Deno.test("what no pointer names goes, what one names stays, and so does what is young", async () => {
  await using rig = await agedRig();
  const { ports, config, folder } = rig;
  const all = await rig.names();
  assert.equal(all.length, 10); // two files and a manifest of each tree, and one in all of them
  await Deno.writeTextFile(`${folder}/README`, "mine");
  await Deno.writeTextFile(`${folder}/.${"ab".repeat(32)}.0011.tmp`, "half");
  await rig.age("README");
  await rig.age(`.${"ab".repeat(32)}.0011.tmp`);
  await Deno.writeTextFile(`${folder}/${"cd".repeat(32)}`, "just now");
  const dry = await prune(ports, config, 30, true);
  assert.ok(dry.kind === "pruned");
  assert.equal((await rig.names()).length, 13);
  const done = await prune(ports, config, 30, false);
  assert.ok(done.kind === "pruned");
  assert.deepEqual(done, dry);
  assert.equal(done.files.length, 4); // the tree in the middle, but for what it shares; and the half
  assert.deepEqual(
    (await rig.names()).filter((name) => !all.includes(name)).sort(),
    [
      "README",
      "cd".repeat(32),
    ].sort(),
  );
  await rig.look("gpu-a");
  await rig.look("gpu-b");
  const again = await prune(ports, config, 30, false);
  assert.deepEqual(again.kind === "pruned" && again.files, []);
});

Deno.test("a pointer or manifest that is not whole stops it: nothing goes", async () => {
  await using rig = await agedRig();
  const { ports, config } = rig;
  const before = (await rig.names()).length;
  const offer = await rig.look("gpu-b");
  const manifest = blobPath(config.root, offer?.target ?? "");
  const text = await Deno.readTextFile(manifest);
  await Deno.remove(manifest);
  const missing = await prune(ports, config, 30, false);
  assert.equal(missing.kind === "refused" && missing.code, "blob_damaged");
  await Deno.writeTextFile(manifest, text);
  // Also of a host that the configuration no longer has.
  await Deno.writeTextFile(pointerPath(config.root, "gpu-old"), "{}");
  const strange = await prune(ports, config, 30, false);
  assert.equal(strange.kind === "refused" && strange.code, "pointer_damaged");
  assert.equal((await rig.names()).length, before);
});
