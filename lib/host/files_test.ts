import assert from "node:assert/strict";
import { filesConformance } from "../testing/files_conformance.ts";
import { tempDir } from "../testing/temp_dir.ts";
import { systemFiles } from "./files.ts";

const ON_WINDOWS = Deno.build.os === "windows";

filesConformance("real", async () => {
  const dir = await tempDir();
  return {
    files: systemFiles,
    at: dir.at,
    put: async (name, text, mode) => {
      await Deno.writeTextFile(dir.at(name), text);
      if (!ON_WINDOWS) await Deno.chmod(dir.at(name), mode);
    },
    putDirectory: (name) => Deno.mkdir(dir.at(name)),
    putLink: (name, target) => Deno.symlink(dir.at(target), dir.at(name)),
    putUnreadable: (name) => Deno.symlink(dir.at(name), dir.at(name)), // a loop stops root, too
    names: () => Promise.resolve([...Deno.readDirSync(dir.path)].map((entry) => entry.name)),
    mode: async (name) => {
      const { mode } = await Deno.lstat(dir.at(name));
      return ON_WINDOWS || mode === null ? null : mode & 0o7777;
    },
    [Symbol.asyncDispose]: () => dir[Symbol.asyncDispose](),
  };
});

Deno.test({
  name: "files: a file that says 0 bytes and gives more is bounded by what it gives",
  ignore: Deno.build.os !== "linux",
  fn: async () => {
    const whole = await systemFiles.readBounded("/proc/self/status", 100_000);
    assert.ok(whole.kind === "ok" && whole.bytes.length > 100);
    const bounded = await systemFiles.readBounded("/proc/self/status", 100);
    assert.ok(bounded.kind === "refused" && bounded.code === "file_too_large");
    assert.match(bounded.cause, /grew/);
  },
});

Deno.test({
  name: "files: a device and a pipe are not waited for",
  ignore: ON_WINDOWS,
  fn: async () => {
    await using dir = await tempDir();
    const made = await new Deno.Command("mkfifo", { args: [dir.at("pipe")] }).output();
    assert.ok(made.success);
    for (const path of ["/dev/zero", dir.at("pipe")]) {
      const read = await systemFiles.readBounded(path, 10);
      assert.ok(read.kind === "refused" && read.code === "file_not_regular", path);
    }
  },
});

Deno.test({
  name: "files: who has the old file open keeps reading the old file",
  ignore: ON_WINDOWS,
  fn: async () => {
    await using dir = await tempDir();
    await Deno.writeTextFile(dir.at("f"), "old");
    using open = await Deno.open(dir.at("f"));
    const done = await systemFiles.replaceFile(dir.at("f"), new Uint8Array([65]), 0o600);
    assert.equal(done.kind, "ok");
    const seen = new Uint8Array(9);
    assert.equal(await open.read(seen), 3);
    assert.equal(new TextDecoder().decode(seen.subarray(0, 3)), "old");
  },
});

Deno.test({
  name: "files: a link at the target is replaced, and what it pointed to stays",
  ignore: ON_WINDOWS,
  fn: async () => {
    await using dir = await tempDir();
    await Deno.writeTextFile(dir.at("other"), "stays");
    await Deno.symlink(dir.at("other"), dir.at("link"));
    const done = await systemFiles.replaceFile(dir.at("link"), new Uint8Array([65]), 0o644);
    assert.equal(done.kind, "ok");
    assert.equal(await Deno.readTextFile(dir.at("other")), "stays");
    const facts = await Deno.lstat(dir.at("link"));
    assert.ok(facts.isFile);
    assert.equal((facts.mode ?? 0) & 0o777, 0o644);
  },
});
