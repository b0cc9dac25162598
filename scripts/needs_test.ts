import assert from "node:assert/strict";
import { commandPath, missingFor, needsOf } from "./needs.ts";
import { filesUnder, textOf } from "../tests/rooms/tree.ts";

Deno.test("a needs line is read from the start of a line only", () => {
  assert.deepEqual(needsOf("/** x */\n// needs: nginx, wrk\nimport x"), ["nginx", "wrk"]);
  assert.deepEqual(needsOf("// needs: nothing\n"), []);
  assert.equal(needsOf(" *     // needs: nginx\n"), null);
});

Deno.test("a command is found when it is there, and missed when it is not", () => {
  assert.notEqual(commandPath(Deno.build.os === "windows" ? "cmd" : "sh"), null);
  assert.equal(commandPath("anvil-no-such-command"), null);
});

Deno.test("a suite without a needs line is a bug; one with an absent command is told", async () => {
  const folder = await Deno.makeTempDir();
  const warned: string[] = [];
  const { warn } = console;
  console.warn = (text: string) => void warned.push(text);
  try {
    const file = (text: string) => {
      const path = `${folder}/x_test.ts`;
      Deno.writeTextFileSync(path, text);
      return new URL(`file://${path.replaceAll("\\", "/").replace(/^(?=[A-Za-z]:)/, "/")}`).href;
    };
    assert.throws(() => missingFor(file("export {};\n")), /needs:/);
    const url = file("// needs: anvil-no-such-command\n");
    assert.deepEqual(missingFor(url), ["anvil-no-such-command"]);
    assert.match(warned.join("\n"), /skipped: x_test.ts needs anvil-no-such-command/);
  } finally {
    console.warn = warn;
    await Deno.remove(folder, { recursive: true });
  }
});

Deno.test("every suite in tests/real says what it needs, in commands provision knows", async () => {
  const table = await textOf("scripts/debian_packages");
  const known = new Set(table.split("\n").map((line) => line.split(/\s+/)[0]));
  for (const path of await filesUnder("tests/real/")) {
    if (!path.endsWith("_test.ts")) continue;
    const needs = needsOf(await textOf(path));
    assert.ok(needs !== null, `${path}: no "// needs:" line; write one, or "nothing"`);
    for (const need of needs) {
      assert.ok(known.has(need), `${path}: scripts/debian_packages lacks ${need}`);
    }
  }
});
