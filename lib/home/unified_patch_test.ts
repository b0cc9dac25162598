import assert from "node:assert/strict";
import * as fc from "fast-check";
import { tempDir } from "../testing/temp_dir.ts";
import { countPatch, unifiedPatch } from "./unified_patch.ts";

/** What `git apply` makes of a file. */
async function applied(path: string, before: string, patch: string): Promise<string> {
  await using dir = await tempDir();
  await Deno.mkdir(dir.at(path.split("/").slice(0, -1).join("/")), { recursive: true });
  await Deno.writeTextFile(dir.at(path), before);
  await Deno.writeTextFile(dir.at("one.patch"), patch);
  const { code, stderr } = await new Deno.Command("git", {
    args: ["-c", "core.autocrlf=false", "apply", "--whitespace=nowarn", "one.patch"],
    cwd: dir.path,
    env: { GIT_CEILING_DIRECTORIES: dir.at("..") },
  }).output();
  assert.equal(code, 0, `${new TextDecoder().decode(stderr)}\n${patch}`);
  return await Deno.readTextFile(dir.at(path));
}

Deno.test("a patch: git makes the other text of the one, whatever ends and names they have", async () => {
  const cases: readonly (readonly [path: string, before: string, after: string])[] = [
    ["hosts/gpu-a/router.toml", "a = 1\nb = 2\nc = 3\n", "a = 1\nb = 3\nc = 3\n"],
    ["my fleet/hosts/gpu-a/router.toml", "a = 1\n", "a = 2\n"],
    ["flotte-süd/router.toml", "a = 1\n", "a = 1\nb = 2\n"],
    ["router.toml", "a = 1", "a = 1\n"],
    ["router.toml", "a = 1\n", "a = 2"],
    ["router.toml", "a = 1\r\nb = 2\r\n", "a = 1\r\nb = 3\r\n"],
    ["router.toml", "", "a = 1\n"],
    ["router.toml", "a = 1\n\n\n", "\n\na = 1\n"],
  ];
  for (const [path, before, after] of cases) {
    const patch = unifiedPatch(path, before, after);
    assert.equal(await applied(path, before, patch), after, JSON.stringify([path, before, after]));
  }
});

Deno.test("a patch of a file in which everything changed is whole, and quick", async () => {
  const text = (word: string) =>
    Array.from({ length: 9000 }, (_, at) => `${word} ${at}\n`).join("");
  const patch = unifiedPatch("router.toml", text("a"), text("b"));
  assert.deepEqual(countPatch(patch), { added: 9000, removed: 9000 });
  assert.equal(await applied("router.toml", text("a"), patch), text("b"));
});

Deno.test("any two texts: the patch makes the one of the other", () => {
  const line = fc.constantFrom(
    "",
    "a = 1",
    "b = 2",
    "# c",
    "--- a/x",
    "+++ b/x",
    "@@ -1 +1 @@",
    "\r",
  );
  const text = fc.tuple(fc.array(line, { maxLength: 12 }), fc.boolean())
    .map(([lines, ended]) => lines.join("\n") + (ended ? "\n" : ""));
  // The function itself compares: what it cannot make, it throws at.
  fc.assert(fc.property(text, text, (before, after) => {
    unifiedPatch("router.toml", before, after);
  }));
});
