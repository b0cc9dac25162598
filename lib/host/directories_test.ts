import assert from "node:assert/strict";
import { directoriesConformance } from "../testing/directories_conformance.ts";
import { fakeDirectories } from "../testing/fake_directories.ts";
import { FakeDisk } from "../testing/fake_disk.ts";
import { tempDir } from "../testing/temp_dir.ts";
import { systemDirectories } from "./directories.ts";
import { systemFiles } from "./files.ts";

directoriesConformance("directories", async () => {
  const dir = await tempDir();
  return {
    directories: systemDirectories,
    files: systemFiles,
    root: dir.path,
    [Symbol.asyncDispose]: () => dir[Symbol.asyncDispose](),
  };
});

directoriesConformance("fake directories", () => {
  const disk = new FakeDisk();
  disk.contents.set("/disk", { kind: "directory" });
  return Promise.resolve({
    directories: fakeDirectories(disk),
    files: disk.files,
    root: "/disk",
    [Symbol.asyncDispose]: () => Promise.resolve(),
  });
});

Deno.test({
  name: "directories: links are named, not followed, and never removed through",
  ignore: Deno.build.os === "windows",
  fn: async () => {
    await using dir = await tempDir();
    await Deno.mkdir(dir.at("outside"));
    await Deno.writeTextFile(dir.at("outside/kept"), "x");
    await Deno.mkdir(dir.at("inside"));
    await Deno.symlink(dir.at("outside"), dir.at("inside/link"));
    const list = await systemDirectories.list(dir.at("inside"), 9);
    assert.ok(list.kind === "ok");
    assert.deepEqual(list.entries.map(({ kind }) => kind), ["link"]);
    const through = await systemDirectories.list(dir.at("inside/link"), 9);
    assert.equal(through.kind === "refused" && through.code, "not_a_directory");
    assert.equal((await systemDirectories.remove(dir.at("inside/link"))).kind, "refused");
    assert.equal((await systemDirectories.remove(dir.at("inside"))).kind, "ok");
    assert.equal(await Deno.readTextFile(dir.at("outside/kept")), "x");
  },
});

Deno.test({
  name: "directories: one for everybody is so from its first parent on, whatever the umask",
  ignore: Deno.build.os === "windows",
  fn: async () => {
    await using dir = await tempDir();
    assert.equal((await systemDirectories.make(dir.at("a/b/c"), 0o755)).kind, "ok");
    for (const name of ["a", "a/b", "a/b/c"]) {
      assert.equal(((await Deno.lstat(dir.at(name))).mode ?? 0) & 0o7777, 0o755, name);
    }
    await systemDirectories.make(dir.at("mine"));
    assert.equal(((await Deno.lstat(dir.at("mine"))).mode ?? 0) & 0o7777, 0o700);
  },
});
