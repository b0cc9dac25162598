import assert from "node:assert/strict";
import { tempDir } from "../testing/temp_dir.ts";
import { probeReplace } from "./replace_probe.ts";

Deno.test("replace probe: a file system that replaces at once, and nothing of ours stays", async () => {
  await using dir = await tempDir();
  // What an earlier probe left when it was killed is no obstacle.
  await Deno.writeTextFile(dir.at(".replace-probe"), "left");
  await Deno.writeTextFile(dir.at(".replace-probe.new"), "left");
  assert.deepEqual(await probeReplace(dir.path), { kind: "atomic" });
  assert.deepEqual([...Deno.readDirSync(dir.path)], []);
});

Deno.test("replace probe: a name that cannot be replaced is told, not taken for one that can", async () => {
  await using dir = await tempDir();
  const { rename } = Deno;
  try {
    Deno.rename = () => Promise.reject(new Deno.errors.NotSupported("no rename here"));
    const refused = await probeReplace(dir.path);
    assert.equal(refused.kind, "not_atomic");
    // A file system that copies: both names are there, or the old file has the new content.
    Deno.rename = async (from, to) => await Deno.copyFile(from, to);
    assert.equal((await probeReplace(dir.path)).kind, "not_atomic");
    Deno.rename = () => Promise.resolve();
    assert.equal((await probeReplace(dir.path)).kind, "not_atomic");
  } finally {
    Deno.rename = rename;
  }
  assert.deepEqual([...Deno.readDirSync(dir.path)], []);
});

Deno.test("replace probe: a folder that cannot be written into is no answer", async () => {
  await using dir = await tempDir();
  assert.equal((await probeReplace(dir.at("absent"))).kind, "unwritable");
});
