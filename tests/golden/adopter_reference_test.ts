import assert from "node:assert/strict";
import { ADOPTER_PAGE, renderedAdopter } from "../../scripts/adopter_reference.ts";
import { readConfig } from "../../roles/adopter/config.ts";

Deno.test("the adopter's reference has every key, as the schema has it", async () => {
  const page = await Deno.readTextFile(ADOPTER_PAGE);
  assert.equal(renderedAdopter(page), page, "run: deno run -A scripts/adopter_reference.ts");
});

Deno.test("the examples of the adopter's pages are read without a problem", async () => {
  let examples = 0;
  for (const page of ["../../docs/reference/adopter.md", "../../docs/guides/adoption.md"]) {
    const text = await Deno.readTextFile(new URL(page, import.meta.url));
    for (const [, example = ""] of text.matchAll(/```toml\n(schema = 1\n[\s\S]*?)```/g)) {
      examples++;
      const read = readConfig(example);
      assert.equal(read.kind, "ok", JSON.stringify(read));
    }
  }
  assert.ok(examples >= 2, `${examples} examples`);
});
