import assert from "node:assert/strict";
import { tempDir } from "../testing/temp_dir.ts";
import { readPlainFile } from "./plain_file.ts";

Deno.test("plain file: its bytes and facts, and each way in which a name is none", async () => {
  await using dir = await tempDir();
  const read = async (name: string, folder = dir.path) => {
    const seen = await readPlainFile(folder, name, 8);
    return seen.kind === "refused" ? seen.code : seen.kind;
  };
  await Deno.writeTextFile(dir.at("plain"), "12345678", { mode: 0o640 });
  await Deno.utime(dir.at("plain"), 1000, 1000);
  const seen = await readPlainFile(dir.path, "plain", 8);
  assert.ok(seen.kind === "ok");
  assert.equal(new TextDecoder().decode(seen.bytes), "12345678");
  assert.deepEqual(seen.facts, { size: 8, modifiedAt: 1_000_000, mode: 0o640 });
  await Deno.writeTextFile(dir.at("large"), "123456789");
  await Deno.mkdir(dir.at("folder"));
  await Deno.writeTextFile(dir.at("folder/inside"), "x");
  await Deno.symlink(dir.at("plain"), dir.at("link"));
  await Deno.symlink(dir.at("nowhere"), dir.at("dangling"));
  await Deno.symlink(dir.at("folder"), dir.at("other"));
  await Deno.writeTextFile(dir.at("one"), "x");
  await Deno.link(dir.at("one"), dir.at("two"));
  const cases: [string, string, string?][] = [
    ["nothing", "absent"],
    ["large", "file_too_large"],
    ["folder", "file_not_regular"],
    ["link", "file_is_link"],
    ["dangling", "file_is_link"],
    ["one", "file_hard_linked"],
    ["two", "file_hard_linked"],
    ["inside", "file_is_link", dir.at("other")],
    ["inside", "ok", dir.at("folder")],
    ["x", "absent", dir.at("nowhere")],
  ];
  for (const [name, expected, folder] of cases) {
    assert.equal(await read(name, folder), expected, name);
  }
});
