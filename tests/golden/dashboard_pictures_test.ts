import assert from "node:assert/strict";
import { FOLDER, MOST_BYTES, PICTURES } from "../../scripts/screenshots.ts";
import { textOf } from "../rooms/tree.ts";

Deno.test("the dashboard's pictures are there, small, and shown in its guide", async () => {
  const guide = await textOf("docs/guides/dashboard.md");
  for (const { name } of PICTURES) {
    const { size } = await Deno.stat(new URL(name, FOLDER));
    assert.ok(size > 10_000 && size < MOST_BYTES, `${name}: ${size} bytes`);
    assert.match(guide, new RegExp(`!\\[[^\\]]+\\]\\(\\.\\./images/${name}\\)`));
  }
});
