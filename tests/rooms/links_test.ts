import assert from "node:assert/strict";
import { filesUnder, ROOT, textOf } from "./tree.ts";

/** Relative targets of the links in a Markdown text, without their fragments. */
function relativeLinks(markdown: string): string[] {
  const prose = markdown.replace(/^(```|~~~)[\s\S]*?^\1/gm, "").replace(/`[^`\n]*`/g, "");
  return [...prose.matchAll(/\]\(<?([^)\s>]+)>?(?:\s+"[^"]*")?\)/g)]
    .map((match) => match[1] ?? "")
    .filter((link) => !/^([a-z]+:|#)/i.test(link))
    .map((link) => link.replace(/#.*$/, ""));
}

Deno.test("links between documents lead somewhere", async () => {
  const dead: string[] = [];
  for (const path of await filesUnder("./")) {
    if (!path.endsWith(".md")) continue;
    for (const link of relativeLinks(await textOf(path))) {
      const to = new URL(link, new URL(path, ROOT));
      const there = await Deno.stat(to).then(() => true, () => false);
      if (!there) dead.push(`${path} -> ${link}`);
    }
  }
  assert.deepEqual(dead, []);
});

Deno.test("links are read out of prose, not out of code", () => {
  const text =
    "[a](docs/a.md#b) [c](https://x.test) [d](#e) `[f](g)`\n```\n[h](i)\n```\n![j](k.png)\n";
  assert.deepEqual(relativeLinks(text), ["docs/a.md", "k.png"]);
});
