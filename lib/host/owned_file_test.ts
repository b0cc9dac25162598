import assert from "node:assert/strict";
import { tempDir } from "../testing/temp_dir.ts";
import { readOwned } from "./owned_file.ts";

Deno.test({
  name: "owned file: ours alone, with one name, or not read at all",
  ignore: Deno.build.os === "windows",
  fn: async () => {
    await using dir = await tempDir();
    const code = async (name: string, most = 9) => {
      const read = await readOwned(dir.at(name), most);
      return read.kind === "ok" ? new TextDecoder().decode(read.bytes) : read.code;
    };
    assert.equal(await code("none"), "file_absent");
    await Deno.writeTextFile(dir.at("f"), "fine", { mode: 0o600 });
    assert.equal(await code("f"), "fine");
    assert.equal(await code("f", 3), "file_too_large");
    for (const mode of [0o644, 0o660, 0o604, 0o700, 0o4600]) {
      await Deno.chmod(dir.at("f"), mode);
      assert.equal(await code("f"), "file_not_private", mode.toString(8));
    }
    await Deno.chmod(dir.at("f"), 0o400);
    assert.equal(await code("f"), "fine");
    await Deno.symlink(dir.at("f"), dir.at("l"));
    assert.equal(await code("l"), "file_not_regular");
    assert.equal(await code("."), "file_not_regular");
    await Deno.link(dir.at("f"), dir.at("second"));
    assert.equal(await code("f"), "file_shared");
    await Deno.remove(dir.at("second"));
    assert.equal(await code("f"), "fine");
    if (Deno.uid() !== 0) return;
    await Deno.chown(dir.at("f"), 12345, 12345);
    assert.equal(await code("f"), "file_not_owned");
  },
});
